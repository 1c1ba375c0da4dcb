// Objects that the program makes and destroys by the way: no answer is needed, since these calls can't fail. They are noted,
// and the server is told with the next call. A note is part of every message, of any thread, until an answer shows that the
// server has it: whichever message arrives first brings it along. capi/notes.py has the other side.
#include "pipes.h"

namespace {

const size_t MOST_LIVE = 4096;            // objects of a kind that are known here; the server knows any number
const uint64_t MOST_MADE = 1ull << 43;    // handles of a kind, which are never used again

pthread_mutex_t noting = PTHREAD_MUTEX_INITIALIZER;
int64_t notes[MOST_NOTED];
size_t noted = 0;         // words in use
int64_t first_noted = 0;  // words that have gone before

// The objects of one kind whose handles were given out here.
struct Objects {
    uint64_t first;  // the handle of the first one
    uint64_t made;
    uint64_t live[MOST_LIVE];

    uint64_t* place_of(uint64_t handle) { return &live[(handle - first) / HANDLE_STEP % MOST_LIVE]; }
    // A new handle whose place is free; 0 if there is none nearby.
    uint64_t next() {
        for (int tries = 0; tries < 64 && made < MOST_MADE; ++tries) {
            uint64_t handle = first + HANDLE_STEP * made++;
            if (!*place_of(handle)) return handle;
        }
        return 0;
    }
};

bool note(const iovec* parts, size_t count) {
    size_t words = 0;
    for (size_t i = 0; i < count; ++i) words += parts[i].iov_len / sizeof(*notes);
    if (noted + words > MOST_NOTED) return false;
    for (size_t i = 0; i < count; ++i) {
        std::memcpy(notes + noted, parts[i].iov_base, parts[i].iov_len);
        noted += parts[i].iov_len / sizeof(*notes);
    }
    return true;
}

// What a message takes along: the words that have gone before, then all notes. The number of words; 0 if there are none.
size_t copy_notes(int64_t* copy) {
    pthread_mutex_lock(&noting);
    size_t words = noted ? noted + 1 : 0;
    if (words) {
        copy[0] = first_noted;
        std::memcpy(copy + 1, notes, noted * sizeof(*notes));
    }
    pthread_mutex_unlock(&noting);
    return words;
}

// The server has answered a message with these notes.
void forget_notes(const int64_t* copy, size_t words) {
    pthread_mutex_lock(&noting);
    const int64_t last = copy[0] + static_cast<int64_t>(words) - 1;
    if (last > first_noted) {
        size_t done = static_cast<size_t>(last - first_noted);
        noted -= done;
        std::memmove(notes, notes + done, noted * sizeof(*notes));
        first_noted = last;
    }
    pthread_mutex_unlock(&noting);
}

}  // namespace
