// Whole messages through the two pipes of a thread. capi/connection.py has the other side.
#include <sys/uio.h>

#include "server.h"

namespace {

// Waits until the server has taken something; false if it has ended.
bool has_room(const Thread* thread) {
    pollfd ends[] = {{thread->asks, POLLOUT, 0}, {thread->answers, POLLIN, 0}};
    while (poll(ends, 2, -1) < 0 && errno == EINTR) {}
    return !ends[1].revents;
}

// False and errno: it could not be sent. What fits into a page is sent whole or not at all; of more a part may be on its
// way when memory turns out not to be there, and with that the connection ends: the next call makes a new one.
bool send_message(Thread* thread, iovec* part, size_t count) {
    size_t sent = 0;
    for (iovec* end = part + count; part < end;) {
        ssize_t moved = writev(thread->asks, part, static_cast<int>(end - part));
        if (moved < 0 && errno != EINTR && !(errno == EAGAIN && has_room(thread))) {
            int reason = errno;
            if (sent) disconnect(thread);
            errno = reason;
            return false;
        }
        for (size_t left = moved < 0 ? 0 : static_cast<size_t>(moved); left && part < end; sent = 1) {
            size_t step = left < part->iov_len ? left : part->iov_len;
            part->iov_base = static_cast<char*>(part->iov_base) + step;
            part->iov_len -= step;
            left -= step;
            if (!part->iov_len) ++part;
        }
    }
    return true;
}

// An answer begins with its size in bytes, this word included. False if the server has ended.
bool receive_answer(Thread* thread) {
    int64_t size = sizeof(size), got = 0;
    while (got < size) {
        ssize_t moved = read(thread->answers, thread->answer + got, LARGEST - 1 - static_cast<size_t>(got));
        if (moved <= 0 && !(moved < 0 && errno == EINTR)) return false;
        if (moved > 0) got += moved;
        if (got >= static_cast<int64_t>(sizeof(size))) std::memcpy(&size, thread->answer, sizeof(size));
    }
    thread->answer[got] = 0;
    return true;
}

}  // namespace
