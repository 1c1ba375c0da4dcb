"""Verdicts as JUnit XML, which the pages of CI systems show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

from .verification import BAD, FAIL, MISSING, REFUSED, Outcome

# A refusal with nothing to compare was not tested on the device.
_TAGS = {FAIL: "failure", MISSING: "failure", BAD: "error", REFUSED: "skipped"}
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(outcomes: Sequence[Outcome], operators: Mapping[str, str]) -> str:
    """One suite with a test for each case, in their order; ``operators`` are those of the cases, by name."""
    counted = Counter(_TAGS.get(outcome.verdict) for outcome in outcomes)
    counts = {"failures": counted["failure"], "errors": counted["error"], "skipped": counted["skipped"]}
    numbers = {key: str(count) for key, count in ({"tests": len(outcomes)} | counts).items()}
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(suites, "testsuite", {"name": "poolgrad verify"} | numbers)
    for outcome in outcomes:
        test = ElementTree.SubElement(suite, "testcase", classname=operators[outcome.case], name=_text(outcome.case))
        if outcome.verdict in _TAGS:
            ElementTree.SubElement(
                test, _TAGS[outcome.verdict], message=_text(f"{outcome.verdict}: {outcome.text}"), type=outcome.verdict
            )
    ElementTree.indent(suites)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(suites, encoding="unicode")}\n'


def _text(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)
