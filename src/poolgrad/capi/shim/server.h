// The program's side of the server: starting it, sharing device memory with it, and a connection for each thread.
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "baked.h"  // PYTHON, START, PATHS, PROTOCOL, HANDLE_STEP

extern char** environ;

namespace {

const size_t LARGEST = 32 * 1024;    // bytes of an answer
const size_t MOST_NOTED = 256;       // words of notes: with them a message still fits into a page
const int PATIENCE = 120;            // seconds that the server has for its imports
const uintptr_t HUGE_PAGE = 2 << 20;

// What belongs to a thread of the program. Texts have their place here: there may be no memory when they are needed.
struct Thread {
    int asks, answers;  // two pipes, which take two thirds of a socket's time; -1: none yet
    volatile sig_atomic_t busy;  // with a call
    Thread* next;                // of those that were ever connected
    char newest[2048], handed_out[2048];
    int64_t notes[MOST_NOTED + 1];
    alignas(8) char answer[LARGEST];
};

thread_local Thread* mine = nullptr;
pthread_key_t ends_with_thread;
pthread_once_t prepared = PTHREAD_ONCE_INIT;
pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
std::atomic<pid_t> owner(0);  // the process that made the first call; a forked child is another
int control = -1;             // the socket to the server's main thread
char trouble[1024] = "";      // why there is no server
Thread* connected = nullptr;  // all threads that have pipes, or had some
char* arena = nullptr;        // device memory
size_t reachable = 0;         // how much of it the program can touch: as far as blocks have ever been

void close_pipes(Thread* thread) {
    if (thread->asks >= 0) close(thread->asks);
    if (thread->answers >= 0) close(thread->answers);
    thread->asks = thread->answers = -1;
}

void disconnect(Thread* thread) {
    pthread_mutex_lock(&starting);
    close_pipes(thread);
    pthread_mutex_unlock(&starting);
}

void end_thread(void* data) {
    Thread* thread = static_cast<Thread*>(data);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);  // close() would obey a late cancel, and keep the lock
    pthread_mutex_lock(&starting);
    close_pipes(thread);
    for (Thread** link = &connected; *link; link = &(*link)->next)
        if (*link == thread) {
            *link = thread->next;
            break;
        }
    pthread_mutex_unlock(&starting);
    std::free(thread);
    mine = nullptr;
}

// No fork in the middle of a start: the child would hold the server's socket, and hide the server's end from us. What the
// child got of our pipes is closed: the server would not see the end of our threads as long as the child lives.
void before_fork() { pthread_mutex_lock(&starting); }
void after_fork() { pthread_mutex_unlock(&starting); }
void after_fork_in_child() {
    int cancelable;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelable);
    for (Thread* thread = connected; thread; thread = thread->next) close_pipes(thread);
    if (control >= 0) close(control);
    control = -1;
    pthread_setcancelstate(cancelable, nullptr);
    after_fork();
}

void prepare() {
    pthread_key_create(&ends_with_thread, end_thread);
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

Thread* this_thread() {
    if (!mine) {
        pthread_once(&prepared, prepare);
        mine = static_cast<Thread*>(std::calloc(1, sizeof(Thread)));
        if (mine) {
            mine->asks = mine->answers = -1;
            pthread_setspecific(ends_with_thread, mine);
        }
    }
    return mine;
}

bool give_up(const char* format, ...) __attribute__((format(printf, 1, 2)));
bool give_up(const char* format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(trouble, sizeof(trouble), format, values);
    va_end(values);
    return false;
}

// What the environment says, or the default.
const char* setting(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value && *value ? value : otherwise;
}

const char* interpreter() { return setting("POOLGRAD_PYTHON", PYTHON); }

// Descriptors 0 to 2 belong to the program, even where it has closed them.
int above_standard(int fd) {
    if (fd < 0 || fd > 2) return fd;
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    close(fd);
    return higher;
}

// What the server's main thread has to say, and descriptors that come with it. -1 and a text: it can't.
struct News {
    int64_t code, size;
    char text[900];
};

bool hear(News* news, int (&fds)[2]) {
    *news = {-1, 0, ""};
    fds[0] = fds[1] = -1;
    pollfd ready = {control, POLLIN, 0};
    int found, patience = std::atoi(setting("POOLGRAD_START_SECONDS", "0"));
    if (patience <= 0 || patience > INT_MAX / 1000) patience = PATIENCE;
    do found = poll(&ready, 1, patience * 1000);
    while (found < 0 && errno == EINTR);
    if (found == 0) return give_up("the server, %s, did not answer within %d seconds", interpreter(), patience);
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof(fds))];
    iovec part = {news, sizeof(*news) - 1};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof(space);
    ssize_t got;
    do got = recvmsg(control, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got <= 0) return give_up("the server, %s, has ended; what it wrote to stderr may tell why", interpreter());
    if (news->code < 0) return give_up("%s", news->text);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header) std::memcpy(fds, CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
    for (int& fd : fds) fd = above_standard(fd);
    return true;
}

void say(int64_t word) {  // if nobody listens, hear() will find out
    while (send(control, &word, sizeof(word), MSG_NOSIGNAL) < 0 && errno == EINTR) {}
}

#define CANNOT_START "can't start %s: %s; run poolgrad capi build again, or set POOLGRAD_PYTHON"

// Starts the interpreter with a socket as its standard input. 0, or the errno.
int start_interpreter(const char* python, int socket, char** environment, pid_t* child) {
    const char* arguments[] = {python, "-I", START, std::strcmp(python, PYTHON) ? "" : PATHS, nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, socket, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    int error = posix_spawnp(child, python, &actions, &attributes, const_cast<char**>(arguments), environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

// Whether orphans become children of the program: it is the first process of a container, or has asked for them.
bool adopts_orphans() {
    int asked = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &asked);
    return asked || getpid() == 1;
}

// Does the same in a process that adopts the server in the program's place, and has nothing else to do. wait() sees only
// children whose end sends a signal, and that of this one sends none.
int start_keeper(const char* python, int socket, char** environment, pid_t* keeper) {
    *keeper = static_cast<pid_t>(syscall(SYS_clone, 0UL, nullptr, nullptr, nullptr, nullptr));
    if (*keeper) return *keeper < 0 ? errno : 0;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t child;
    int error = start_interpreter(python, socket, environment, &child);
    if (error) {
        News news = {-1, 0, ""};
        snprintf(news.text, sizeof(news.text), CANNOT_START, python, std::strerror(error));
        send(socket, &news, sizeof(news), MSG_NOSIGNAL);
    }
    const long close_range = 436;  // a system call that older headers do not know
    if (syscall(close_range, 0U, ~0U, 0U))
        for (int fd = 0; fd < 65536; ++fd) close(fd);
    while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {}
    _exit(0);
}

// Starts the interpreter. It forks, says so and ends: the server is nobody's child, so that the program's wait() does not
// see it.
bool spawn(int socket) {
    const char* python = interpreter();
    size_t count = 0, kept = 0;
    while (environ && environ[count]) ++count;
    char** environment = static_cast<char**>(std::calloc(count + 1, sizeof(char*)));
    if (!environment) {
        close(socket);
        return give_up("there is no memory left");
    }
    for (size_t i = 0; i < count; ++i)  // tools that are preloaded into the program are not meant for the server
        if (std::strncmp(environ[i], "LD_PRELOAD=", 11)) environment[kept++] = environ[i];
    const bool keeps = adopts_orphans();
    pid_t child = 0;
    int error = (keeps ? start_keeper : start_interpreter)(python, socket, environment, &child);
    std::free(environment);
    close(socket);
    if (error) return give_up(CANNOT_START, python, std::strerror(error));
    News news;
    int nothing[2];
    bool started = hear(&news, nothing);
    if (keeps && started) return true;  // it stays
    if (keeps) kill(-child, SIGKILL);   // its session
    const int kind = keeps ? __WCLONE : 0;
    if (!started && waitpid(child, nullptr, WNOHANG | kind) == 0) kill(child, SIGKILL);
    while (waitpid(child, nullptr, kind) < 0 && errno == EINTR) {}
    return started;
}

// Maps a file where huge pages can begin: in a range that is reserved with some room to spare, which is given back.
void* map_aligned(int memory, size_t size) {
    const int reserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, shared = MAP_SHARED | MAP_NORESERVE | MAP_FIXED;
    char* range = static_cast<char*>(mmap(nullptr, size + HUGE_PAGE, PROT_NONE, reserved, -1, 0));
    if (range == MAP_FAILED) return nullptr;
    size_t before = -reinterpret_cast<uintptr_t>(range) % HUGE_PAGE;
    if (before) munmap(range, before);
    munmap(range + before + size, HUGE_PAGE - before);
    void* start = mmap(range + before, size, PROT_NONE, shared, memory, 0);
    if (start != MAP_FAILED) {
        madvise(start, size, MADV_DONTDUMP);  // a core dump would walk through all of it
        madvise(start, size, MADV_DONTFORK);
        return start;
    }
    munmap(range + before, size);
    return nullptr;
}

// The server offers memory until both have it at the same address; what was refused stays until then, so that another
// address is found. The program's address counts, since tools like valgrind leave it little choice.
bool share_memory() {
    void* mapped[8] = {};
    size_t sizes[8] = {}, tries = 0;
    bool agreed = false;
    say(static_cast<int64_t>(PROTOCOL));
    for (News news; tries < 8 && !agreed; ++tries) {
        int memory[2];
        if (!hear(&news, memory)) break;
        agreed = memory[0] < 0;  // it had nothing more to offer
        if (agreed) break;
        sizes[tries] = static_cast<size_t>(news.size);
        mapped[tries] = map_aligned(memory[0], sizes[tries]);
        close(memory[0]);
        say(static_cast<int64_t>(reinterpret_cast<uintptr_t>(mapped[tries])));
    }
    if (agreed) arena = static_cast<char*>(mapped[--tries]);
    for (size_t i = 0; i < tries; ++i)
        if (mapped[i]) munmap(mapped[i], sizes[i]);
    return agreed;
}

// Lets the program touch a new block. Not all of the arena at once: a tool that looks through memory (valgrind for
// leaks) would fill it, and with it the machine.
void reach(const void* block, size_t size) {
    pthread_mutex_lock(&starting);
    size_t end = static_cast<size_t>(static_cast<const char*>(block) - arena) + size;
    if (end > reachable) {
        end = (end + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
        mprotect(arena, end, PROT_READ | PROT_WRITE);
        reachable = end;
    }
    pthread_mutex_unlock(&starting);
}

// Before a block is freed: reach() of its next owner comes after, and tools that look for races see that it does.
void leave() {
    pthread_mutex_lock(&starting);
    pthread_mutex_unlock(&starting);
}

bool start() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return give_up("can't make a socket: %s", std::strerror(errno));
    control = above_standard(ends[0]);
    if (spawn(above_standard(ends[1])) && share_memory()) return true;
    close(control);
    control = -1;
    return false;
}

// A connection for this thread; the first thread of all starts the server. What went wrong then stays wrong.
bool connect(Thread* thread, char* reason, size_t size) {
    pthread_mutex_lock(&starting);
    News news;
    bool good = control >= 0 || (!*trouble && start());
    if (good) {
        int pipes[2];
        say(0);
        good = hear(&news, pipes);
        thread->asks = pipes[0];
        thread->answers = pipes[1];
        if (good && thread->answers < 0) good = give_up("the program can't open two more files; raise ulimit -n");
        if (!good) close_pipes(thread);
        Thread* known = connected;
        while (known && known != thread) known = known->next;
        if (!known) {
            thread->next = connected;
            connected = thread;
        }
    }
    snprintf(reason, size, "%s", trouble);
    pthread_mutex_unlock(&starting);
    return good;
}

}  // namespace
