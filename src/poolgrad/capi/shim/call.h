// One call: what goes in becomes a message, what comes out is taken from the answer. capi/calls.py has the other side.
#include <climits>
#include <ctime>
#include <new>

#include <sched.h>

#include "notes.h"

namespace {

const uint64_t MOST_VALUES = 1024;  // in an array; the server refuses more
const size_t LARGE = 1 << 20;       // bytes of a copy that takes longer than looking at the program's mappings
const int POPULATE_READ = 22, POPULATE_WRITE = 23;  // advice that older headers and systems do not know
const char LOST[] = "the server process has ended, and with it device memory and all handles; start the program again "
                    "(a program that closes descriptors which it has not opened cuts itself off in the same way)";
const char OUTSIDE[] = "an array or a text that was passed lies outside of the program's memory; pass the address of as many "
                       "values as you say";

// Whether the program's memory is there, and can be read or written; false also where the system can't tell.
bool is_there(const void* start, size_t count, int advice) {
    const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const uintptr_t low = reinterpret_cast<uintptr_t>(start) / page * page;
    const uintptr_t high = reinterpret_cast<uintptr_t>(start) + count;
    return !madvise(reinterpret_cast<void*>(low), high - low, advice);
}

class Call {
public:
    // failure: the status where there is no answer; 0 for functions that return a pointer.
    Call(int64_t operation, const char* name, int32_t failure)
        : name_(name), failure_(failure), status_(failure), thread_(this_thread()) {
        interrupts_ = thread_ && thread_->busy;
        if (thread_) thread_->busy = 1;
        words_[0] = operation;
        words_[2] = sched_getcpu();
        // A thread that is cancelled ends after the call: it may hold the lock of the start.
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelable_);
    }
    ~Call() {
        if (thread_ && !interrupts_) thread_->busy = 0;
        pthread_setcancelstate(cancelable_, nullptr);
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    void number(int64_t value) { words_[used_++] = value; }
    void handle(const void* value) { number(static_cast<int64_t>(reinterpret_cast<uintptr_t>(value))); }
    void text(const char* value) { items(value, value ? strnlen(value, PATH_MAX) : 0, PATH_MAX, 1); }
    // A null pointer to no values is what an empty std::vector has.
    void array(const int64_t* values, uint64_t count) {
        refused_ |= (!values && count) || count > MOST_VALUES;
        optional_array(values, count);
    }
    void optional_array(const int64_t* values, uint64_t count) {
        items(values || count ? values : words_, count, MOST_VALUES, sizeof(*values));
    }
    // A pointer to a place for a result: only a null one is told, by its order.
    void place(const void* pointer, int order) {
        if (!pointer && !words_[1]) words_[1] = order;
    }

    // Makes an object without asking, and gives its handle; null where only the server can tell.
    void* make(Objects* objects) {
        if (refused_ || !may_note() || !is_connected()) return nullptr;
        for (size_t i = 1; i < filled_; ++i)
            if (!is_there(parts_[i].iov_base, parts_[i].iov_len, POPULATE_READ)) return nullptr;
        pthread_mutex_lock(&noting);
        uint64_t handle = objects->next();
        if (handle && note_this(handle)) *objects->place_of(handle) = handle;
        else handle = 0;
        pthread_mutex_unlock(&noting);
        return reinterpret_cast<void*>(static_cast<uintptr_t>(handle));
    }
    // Destroys an object without asking; false where only the server can tell.
    bool destroy(Objects* objects, const void* object) {
        if (!may_note()) return false;
        const uint64_t handle = reinterpret_cast<uintptr_t>(object);
        const bool good = is_connected();
        pthread_mutex_lock(&noting);
        uint64_t* place = objects->place_of(handle);
        const bool known = handle && *place == handle;
        if (known) *place = 0;
        const bool done = known && good && note_this(handle);
        pthread_mutex_unlock(&noting);
        if (done) status_ = 0;
        return done;
    }

    // True if the answer is no failure: then there are results to take.
    bool ask() {
        pid_t nobody = 0, self = getpid();
        if (!owner.compare_exchange_strong(nobody, self) && nobody != self)
            return fail("this process was forked from the one that has the device; use it there, or exec a program");
        if (!thread_) return fail("there is no memory left");
        if (interrupts_)
            return fail("a signal handler has interrupted another call of this thread, or left it with siglongjmp; "
                        "call from no handler, and let calls return");
        char reason[sizeof(trouble)];
        if (thread_->asks < 0 && !connect(thread_, reason, sizeof(reason))) return fail(reason);
        const size_t noted_here = copy_notes(thread_->notes);
        words_[4] = static_cast<int64_t>(noted_here * sizeof(*thread_->notes));
        if (noted_here) parts_[filled_++] = {thread_->notes, static_cast<size_t>(words_[4])};
        measure();
        if (!send_message(thread_, parts_, filled_))
            return fail(errno == EFAULT ? OUTSIDE : LOST);
        if (!receive_answer(thread_)) return fail(LOST);
        if (noted_here) forget_notes(thread_->notes, noted_here);
        next_ = thread_->answer + sizeof(int64_t);  // behind its size
        take(&result_, sizeof(result_));
        status_ = static_cast<int32_t>(result_);
        bool good = failure_ ? status_ == 0 : result_ != 0;
        if (!good) keep(next_);
        return good;
    }

    // Host memory that may not be there: the server will look it up. Asking the system takes no time for small copies.
    void memory(const void* start, size_t count, int advice) {
        number(count >= LARGE || !is_there(start, count, advice));
    }

    void take(void* place, size_t size) {
        std::memcpy(place, next_, size);  // little-endian words: the low bytes are the value
        next_ += sizeof(int64_t);
    }
    void take_array(int64_t** values, uint64_t* count) {
        take(count, sizeof(*count));
        *values = new (std::nothrow) int64_t[*count];  // the caller deletes it
        if (*values) std::memcpy(*values, next_, *count * sizeof(int64_t));
        else fail("there is no memory left");
    }
    // The server has approved both ranges, and says whether the copy is left to us.
    void copy(void* dst, const void* src, size_t count) {
        int64_t ours = 0;
        take(&ours, sizeof(ours));
        if (ours) std::memmove(dst, src, count);
    }

    int32_t status() const { return status_; }
    void* pointer() const { return reinterpret_cast<void*>(static_cast<uintptr_t>(result_)); }
    // The text of an answer, where it stays: a program has one server, which tells the same name each time.
    const char* lasting_text() const {
        if (!result_) return nullptr;
        static const char* const kept = strdup(next_);
        return kept;
    }

private:
    // The number of items, -1 for a null pointer; the items themselves follow the words, unless there are too many.
    void items(const void* start, size_t count, size_t most, size_t size) {
        number(start ? static_cast<int64_t>(count > most ? most + 1 : count) : -1);
        if (start && count && count <= most) parts_[filled_++] = {const_cast<void*>(start), count * size};
    }

    // The message itself, and its size.
    void measure() {
        parts_[0] = {words_, used_ * sizeof(*words_)};
        words_[3] = 0;
        for (size_t i = 0; i < filled_; ++i) words_[3] += static_cast<int64_t>(parts_[i].iov_len);
    }

    // The message as a note, with a handle in the place of the core.
    bool note_this(uint64_t handle) {
        const int64_t core = words_[2];
        measure();
        words_[2] = static_cast<int64_t>(handle);
        const bool done = note(parts_, filled_);
        words_[2] = core;
        return done;
    }

    // Whether nobody who will never give it back holds the lock: the call that was interrupted, a thread of the parent.
    bool may_note() const { return thread_ && !interrupts_ && owner == getpid(); }

    // Whether this thread could ask now: if not, asking tells why.
    bool is_connected() const {
        if (thread_->asks < 0) return false;
        pollfd answers = {thread_->answers, POLLIN, 0};
        return poll(&answers, 1, 0) == 0;  // nothing to hear, not even that the server has ended
    }

    // The failures that only we can tell of.
    bool fail(const char* reason) {
        char text[1536], date[32] = "", moment[64] = "";
        if (owner == getpid()) {  // in a forked child another thread may hold the lock of the time zone for ever
            timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            tm parts;
            strftime(date, sizeof(date), "%Y-%m-%d-%H:%M:%S", localtime_r(&now.tv_sec, &parts));
            snprintf(moment, sizeof(moment), "%s.%06ld ", date, now.tv_nsec / 1000);
        }
        snprintf(text, sizeof(text), "[PID:%d] %sAclNN_Inner_Error(EZ9999): %s: %s", getpid(), moment, name_, reason);
        status_ = failure_;
        result_ = 0;
        keep(text);
        return false;
    }

    // Keeps a message for aclGetRecentErrMsg, and writes it to stderr, since most programs never ask.
    void keep(const char* text) {
        if (thread_) snprintf(thread_->newest, sizeof(thread_->newest), "%s", text);
        const char* wish = std::getenv("POOLGRAD_LOG");
        if (wish && !std::strcmp(wish, "0")) return;
        const char* reason = std::strstr(text, "): ");  // behind the title
        reason = reason ? reason + 3 : text;
        size_t length = std::strlen(name_);
        if (!std::strncmp(reason, name_, length) && !std::strncmp(reason + length, ": ", 2)) reason += length + 2;
        char line[2560], status[16] = "null";
        if (failure_) snprintf(status, sizeof(status), "%d", status_);
        int size = snprintf(line, sizeof(line), "poolgrad: %s -> %s: %s\n", name_, status, reason);
        if (size > static_cast<int>(sizeof(line)) - 1) size = static_cast<int>(sizeof(line)) - 1;
        ssize_t ignored = write(STDERR_FILENO, line, static_cast<size_t>(size));  // one piece, also among threads
        static_cast<void>(ignored);
    }

    const char* name_;
    int32_t failure_, status_;
    Thread* thread_;
    bool interrupts_;  // another call of this thread, which is not over
    int64_t result_ = 0;
    const char* next_ = "";
    bool refused_ = false;    // the server will have something against an array
    int64_t words_[20] = {};  // operation, order of a null place, core, sizes of the message and its notes, inputs
    size_t used_ = 5;
    iovec parts_[5] = {};  // the words, then texts and arrays, then notes
    size_t filled_ = 1;
    int cancelable_;
};

}  // namespace
