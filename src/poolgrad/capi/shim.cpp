// The library behind CANN's headers. There is no Python in it: the first call starts a Python process, the server, which
// answers all calls. The two share the device's memory, mapped at the same address in both; each thread of the program
// has a connection of its own, behind which stands a thread of the server. The functions themselves are generated.
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "acl/acl.h"
#include "aclnnop/aclnn_adaptive_avg_pool3d_backward.h"
#include "aclnnop/aclnn_adaptive_max_pool2d_backward.h"
#include "aclnnop/aclnn_avgpool2d_backward.h"
#include "aclnnop/aclnn_max_pool2d_with_indices_backward.h"
#include "baked.h"  // PYTHON, START, PATHS, PROTOCOL

#define EXPORT extern "C" __attribute__((visibility("default")))

extern char** environ;

namespace {

const uint64_t MOST_VALUES = 1024;          // in an array; the server refuses more
const size_t LARGEST = 32 * 1024;           // bytes of a message
const int START_LIMIT = 120 * 1000;         // milliseconds that the server has for its imports
const size_t SMALLEST_ARENA = 64 * 1024;
const size_t HUGE_PAGE = 2 * 1024 * 1024;

struct Thread {
    int connection;  // -1: none yet
    char newest[2048], handed_out[2048];    // messages; their text never needs memory that may be short
    alignas(8) char answer[LARGEST];
};

thread_local Thread* mine = nullptr;
pthread_key_t ends_with_thread;
pthread_once_t prepared = PTHREAD_ONCE_INIT;
pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
std::atomic<pid_t> owner(0);                // the process that made the first call; a forked child is another
int control = -1;                           // the socket to the server's main thread
char trouble[1024] = "";                    // why there is no server

void end_thread(void* data) {
    Thread* thread = static_cast<Thread*>(data);
    if (thread->connection >= 0) close(thread->connection);
    std::free(thread);
    mine = nullptr;
}

// No fork while a socket of the server's is open here: a child that kept it would hide the server's end from us.
void before_fork() { pthread_mutex_lock(&starting); }
void after_fork() { pthread_mutex_unlock(&starting); }

void prepare() {
    pthread_key_create(&ends_with_thread, end_thread);
    pthread_atfork(before_fork, after_fork, after_fork);
}

Thread* this_thread() {
    if (!mine) {
        pthread_once(&prepared, prepare);
        mine = static_cast<Thread*>(std::calloc(1, sizeof(Thread)));
        if (mine) {
            mine->connection = -1;
            pthread_setspecific(ends_with_thread, mine);
        }
    }
    return mine;
}

// Descriptors 0 to 2 belong to the program, even where it has closed them.
int above_standard(int fd) {
    if (fd < 0 || fd > 2) return fd;
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    close(fd);
    return higher;
}

bool socket_pair(int ends[2]) {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) return false;
    ends[0] = above_standard(ends[0]);
    ends[1] = above_standard(ends[1]);
    return ends[0] >= 0 && ends[1] >= 0;
}

// Sends words and a descriptor to the server's main thread.
bool send_descriptor(const int64_t* words, size_t count, int fd) {
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
    iovec part = {const_cast<int64_t*>(words), count * sizeof(int64_t)};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof(space);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof(int));
    ssize_t sent;
    do sent = sendmsg(control, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent > 0;
}

ssize_t receive(int socket, void* buffer, size_t size) {
    ssize_t got;
    do got = recv(socket, buffer, size, 0);
    while (got < 0 && errno == EINTR);
    return got;
}

bool give_up(const char* format, ...) __attribute__((format(printf, 1, 2)));
bool give_up(const char* format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(trouble, sizeof(trouble), format, values);
    va_end(values);
    return false;
}

// The server's answer to an offer of memory: 0, it is ready; an errno, it can't map it; -1 and a text, it can't start.
int64_t hear() {
    struct { int64_t code; char text[900]; } heard = {-1, ""};
    pollfd ready = {control, POLLIN, 0};
    int found;
    do found = poll(&ready, 1, START_LIMIT);
    while (found < 0 && errno == EINTR);
    ssize_t got = found > 0 ? receive(control, &heard, sizeof(heard) - 1) : -1;
    if (found == 0) give_up("the server did not start within %d seconds", START_LIMIT / 1000);
    else if (got < 8) give_up("the server ended while it started; what it wrote to stderr may tell why");
    else if (heard.code) give_up("%s", heard.text);
    return got < 8 ? -1 : heard.code;
}

bool spawn(int socket) {
    const char* chosen = getenv("POOLGRAD_PYTHON");
    const char* python = chosen && *chosen ? chosen : PYTHON;
    const char* arguments[] = {python, "-I", START, python == chosen ? "" : PATHS, nullptr};
    // Tools that are preloaded into the program are not meant for the server.
    size_t count = 0, kept = 0;
    while (environ && environ[count]) ++count;
    char** environment = static_cast<char**>(std::calloc(count + 1, sizeof(char*)));
    if (!environment) return give_up("there is no memory for the server's environment");
    for (size_t i = 0; i < count; ++i)
        if (std::strncmp(environ[i], "LD_PRELOAD=", 11)) environment[kept++] = environ[i];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, socket, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    pid_t child = 0;
    int error = posix_spawnp(&child, python, &actions, &attributes, const_cast<char**>(arguments), environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    std::free(environment);
    if (error) return give_up("can't start %s: %s; run poolgrad capi build again, or set POOLGRAD_PYTHON", python, strerror(error));
    // It forks and ends at once: the server is nobody's child, so that the program's wait() never sees it.
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {}
    return true;
}

// As much device memory as there is RAM, or what the limits of the process leave.
size_t arena_size() {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    rlim_t size = static_cast<rlim_t>(pages) * static_cast<rlim_t>(page);
    rlimit limit;
    if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < size) size = limit.rlim_cur;
    if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur / 4 < size) size = limit.rlim_cur / 4;
    return size / page * page;
}

size_t half(size_t size) { return size / 2 / 4096 * 4096; }

// Maps a file where huge pages can begin: in a range that is reserved with some room to spare, which is given back.
void* map_aligned(int memory, size_t size) {
    const int reserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char* range = static_cast<char*>(mmap(nullptr, size + HUGE_PAGE, PROT_NONE, reserved, -1, 0));
    if (range == MAP_FAILED) return MAP_FAILED;
    size_t before = -reinterpret_cast<uintptr_t>(range) % HUGE_PAGE;
    if (before) munmap(range, before);
    if (before < HUGE_PAGE) munmap(range + before + size, HUGE_PAGE - before);
    const int shared = MAP_SHARED | MAP_FIXED | MAP_NORESERVE;
    void* start = mmap(range + before, size, PROT_READ | PROT_WRITE, shared, memory, 0);
    if (start == MAP_FAILED) munmap(range + before, size);
    return start;
}

// Maps device memory here and in the server, at the same address: where both are free, and as much as both can have.
bool share_memory() {
    int memory = memfd_create("poolgrad", MFD_CLOEXEC);
    if (memory < 0) memory = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    memory = above_standard(memory);
    if (memory < 0) return give_up("there is no shared memory: %s", strerror(errno));
    void* refused = nullptr;
    size_t refused_size = 0;
    int64_t answer = ENOMEM;
    for (size_t size = arena_size(); answer && size >= SMALLEST_ARENA;) {
        void* start = ftruncate(memory, static_cast<off_t>(size)) ? MAP_FAILED : map_aligned(memory, size);
        if (refused) munmap(refused, refused_size);
        refused = nullptr;
        if (start == MAP_FAILED) {
            size = half(size);
            continue;
        }
        madvise(start, size, MADV_DONTDUMP);  // a core dump would walk through all of it
        madvise(start, size, MADV_DONTFORK);
        int64_t offer[] = {static_cast<int64_t>(PROTOCOL), reinterpret_cast<int64_t>(start), static_cast<int64_t>(size)};
        send_descriptor(offer, 3, memory);
        answer = hear();
        if (!answer) break;
        refused = start;
        refused_size = size;
        if (answer < 0) break;
        if (answer != EEXIST) size = half(size);
    }
    if (refused) munmap(refused, refused_size);
    close(memory);
    if (answer > 0) give_up("there is no room for device memory: the limits of this process (ulimit -v, ulimit -f) are too low");
    return answer == 0;
}

bool start() {
    int ends[2];
    if (!socket_pair(ends)) return give_up("can't make a socket: %s", strerror(errno));
    control = ends[0];
    bool spawned = spawn(ends[1]);
    close(ends[1]);
    if (spawned && share_memory()) return true;
    close(control);
    control = -1;
    return false;
}

// A connection for this thread; the first thread of all starts the server.
bool connect(Thread* thread) {
    pthread_mutex_lock(&starting);
    bool good = control >= 0 || (!*trouble && start());
    int ends[2];
    if (good && (good = socket_pair(ends))) {
        int64_t word = 0;
        good = send_descriptor(&word, 1, ends[1]);
        close(ends[1]);
        if (good) thread->connection = ends[0];
        else close(ends[0]);
    }
    pthread_mutex_unlock(&starting);
    return good;
}

// One call: what goes in becomes a message, what comes out is taken from the answer.
class Call {
public:
    Call(int64_t operation, const char* name, int32_t failure)
        : name_(name), failure_(failure), status_(failure), thread_(this_thread()) {
        words_[0] = operation;
    }

    void number(int64_t value) { words_[used_++] = value; }
    void handle(const void* value) { number(static_cast<int64_t>(reinterpret_cast<uintptr_t>(value))); }
    void text(const char* value) { bytes(value, value ? strnlen(value, PATH_MAX) : 0, PATH_MAX, 1); }
    // A null pointer to no values is what an empty std::vector has.
    void array(const int64_t* values, uint64_t count) {
        bytes(values || count ? values : words_, count, MOST_VALUES, sizeof(*values));
    }
    // A pointer to a place for a result: only a null one is told, by its order.
    void place(const void* pointer, int order) {
        if (!pointer && !words_[1]) words_[1] = order;
    }

    // True if the answer is no failure, and has values to take.
    bool ask() {
        pid_t nobody = 0, self = getpid();
        if (!owner.compare_exchange_strong(nobody, self) && nobody != self)
            return fail("this process was forked from the one that has the device; use it there, or exec a new program");
        if (!thread_) return fail("there is no memory left");
        if (thread_->connection < 0 && !connect(thread_)) return fail(*trouble ? trouble : LOST);
        parts_[0] = {words_, used_ * sizeof(int64_t)};
        msghdr message = {};
        message.msg_iov = parts_;
        message.msg_iovlen = filled_;
        ssize_t sent;
        do sent = sendmsg(thread_->connection, &message, MSG_NOSIGNAL);
        while (sent < 0 && errno == EINTR);
        if (sent < 0) return fail(errno == EFAULT ? "an array or a text lies outside of the program's memory" : LOST);
        ssize_t got = receive(thread_->connection, thread_->answer, sizeof(thread_->answer) - 1);
        if (got < 8) return fail(LOST);
        thread_->answer[got] = 0;
        next_ = thread_->answer;
        take(&result_, sizeof(result_));
        status_ = static_cast<int32_t>(result_);
        bool good = failure_ ? status_ == 0 : result_ != 0;
        if (!good) keep(next_);
        return good;
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
    // The server has approved both ranges, and says whether there is anything left to copy.
    void copy(void* dst, const void* src, size_t count) {
        int64_t wanted = 0;
        take(&wanted, sizeof(wanted));
        if (wanted) std::memmove(dst, src, count);
    }

    int32_t status() const { return status_; }
    void* pointer() const { return reinterpret_cast<void*>(static_cast<uintptr_t>(result_)); }
    // The string of the list that the answer names: the list never goes away.
    const char* one_of(const char* const* list, size_t count) const {
        for (size_t i = 0; result_ && i < count; ++i)
            if (!std::strcmp(list[i], next_)) return list[i];
        return nullptr;
    }

private:
    static constexpr const char* LOST = "the server process has ended, and with it device memory and all handles; start the program again";

    // The number of items, -1 for a null pointer; the items themselves follow the words, unless there are too many.
    void bytes(const void* start, size_t count, size_t most, size_t size) {
        number(start ? static_cast<int64_t>(count > most ? most + 1 : count) : -1);
        if (start && count && count <= most) parts_[filled_++] = {const_cast<void*>(start), count * size};
    }

    // The failures that only the shim can tell of.
    bool fail(const char* reason) {
        char text[1536], moment[32];
        timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        tm parts;
        strftime(moment, sizeof(moment), "%Y-%m-%d-%H:%M:%S", localtime_r(&now.tv_sec, &parts));
        snprintf(text, sizeof(text), "[PID:%d] %s.%06ld AclNN_Inner_Error(EZ9999): %s: %s", getpid(), moment,
                 now.tv_nsec / 1000, name_, reason);
        status_ = failure_;
        result_ = 0;
        keep(text);
        return false;
    }

    // Keeps a message for aclGetRecentErrMsg, and tells it on stderr: most programs never ask.
    void keep(const char* text) {
        if (thread_) snprintf(thread_->newest, sizeof(thread_->newest), "%s", text);
        const char* wish = getenv("POOLGRAD_LOG");
        if (wish && !std::strcmp(wish, "0")) return;
        const char* reason = std::strstr(text, "): ");
        reason = reason ? reason + 3 : text;
        size_t length = std::strlen(name_);
        if (!std::strncmp(reason, name_, length) && !std::strncmp(reason + length, ": ", 2)) reason += length + 2;
        char line[2560], status[16] = "null";
        if (failure_) snprintf(status, sizeof(status), "%d", status_);
        int size = snprintf(line, sizeof(line) - 1, "poolgrad: %s -> %s: %s", name_, status, reason);
        size = size < static_cast<int>(sizeof(line)) - 1 ? size : static_cast<int>(sizeof(line)) - 2;
        line[size] = '\n';
        ssize_t ignored = write(STDERR_FILENO, line, static_cast<size_t>(size) + 1);  // one piece, also among threads
        static_cast<void>(ignored);
    }

    const char* name_;
    int32_t failure_;  // the status where there is no answer; 0 for functions that return a pointer
    int32_t status_;
    Thread* thread_;
    int64_t result_ = 0;
    const char* next_ = "";
    int64_t words_[16] = {};  // operation, null place, numbers
    size_t used_ = 2;
    iovec parts_[4] = {};     // the words, then texts and arrays
    size_t filled_ = 1;
};

constexpr const char* Call::LOST;

}  // namespace

EXPORT const char* aclGetRecentErrMsg(void) {
    Thread* thread = this_thread();
    if (!thread || !*thread->newest) return nullptr;
    std::memcpy(thread->handed_out, thread->newest, sizeof(thread->newest));
    *thread->newest = 0;
    return thread->handed_out;
}

EXPORT float aclFloat16ToFloat(aclFloat16 value) {
    uint32_t bits = (value & 0x7fffu) << 13;
    float number;
    std::memcpy(&number, &bits, sizeof(number));
    number *= 5.192296858534828e33f;  // 2 to the 112: the exponents' biases differ by 112; exact, also for subnormal numbers
    std::memcpy(&bits, &number, sizeof(bits));
    if (number >= 65536.0f) bits |= 0x7f800000u;  // infinity and NaN
    bits |= (value & 0x8000u) << 16;
    std::memcpy(&number, &bits, sizeof(number));
    return number;
}

EXPORT aclFloat16 aclFloatToFloat16(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    uint32_t sign = bits >> 16 & 0x8000u;
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u) return static_cast<aclFloat16>(sign | 0x7e00u | (bits >> 13 & 0x3ffu));  // NaN
    if (bits >= 0x47800000u) return static_cast<aclFloat16>(sign | 0x7c00u);                         // 65536 and more
    if (bits < 0x38800000u) {  // becomes subnormal: an addition puts the last bit where it must be, and rounds
        float number;
        std::memcpy(&number, &bits, sizeof(number));
        number += 0.5f;
        std::memcpy(&bits, &number, sizeof(bits));
        return static_cast<aclFloat16>(sign | (bits - 0x3f000000u));
    }
    bits += 0xfffu + (bits >> 13 & 1u);  // to nearest, ties to even
    return static_cast<aclFloat16>(sign | ((bits >> 13) - (112u << 10)));
}

#include "functions.inc"
