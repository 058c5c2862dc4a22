/* helper.c: starts the helper process and exchanges messages with it. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "session.h"

static const char program[] = "ompd-inspect";
static char verb[] = "libompd";

/* The possible paths of the program, best first. A name without a slash is searched in PATH. */
struct places {
    char named[PATH_MAX], beside[PATH_MAX], installed[PATH_MAX], below[PATH_MAX]; /* lib, lib/ompd-inspect */
};

static void find_places(struct places *p) {
    Dl_info self;
    const char *set = getenv("OMPD_INSPECT");
    snprintf(p->named, sizeof p->named, "%s", set ? set : "");
    p->beside[0] = p->installed[0] = p->below[0] = 0;
    if (!dladdr((void *)find_places, &self) || !self.dli_fname) return;
    const char *slash = strrchr(self.dli_fname, '/');
    int dir = slash ? (int)(slash - self.dli_fname) : 1;
    const char *in = slash ? self.dli_fname : ".";
    if (snprintf(p->beside, sizeof p->beside, "%.*s/%s", dir, in, program) >= PATH_MAX) p->beside[0] = 0;
    if (snprintf(p->installed, sizeof p->installed, "%.*s/../bin/%s", dir, in, program) >= PATH_MAX) p->installed[0] = 0;
    if (snprintf(p->below, sizeof p->below, "%.*s/../../bin/%s", dir, in, program) >= PATH_MAX) p->below[0] = 0;
}

/* exec_helper replaces this process, which was forked from the debugger, by the helper. */
static void exec_helper(struct places *p, int fd) {
    char *args[] = {(char *)program, verb, NULL};
    char *const all[] = {p->named, p->beside, p->installed, p->below};
    sigset_t none;
    int null = open("/dev/null", O_WRONLY);
    if (null < 0 || dup2(fd, 0) < 0 || dup2(null, 1) < 0) _exit(126);
    setsid(); /* the terminal's signals are for the debugger */
#ifdef SYS_close_range
    syscall(SYS_close_range, 3, ~0U, 0); /* closes the debugger's files */
#endif
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i][0]) execv(all[i], args);
    execvp(program, args);
    _exit(127);
}

/* spawn starts the helper as a grandchild: the debugger, which waits for its own children, does not see it, and gets no
 * SIGCHLD when it ends. No handler of the debugger runs in a forked process, because all signals are blocked. */
static bool spawn(int fd) {
    struct places places;
    sigset_t all, before;
    find_places(&places);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) {
        pid_t helper = fork();
        if (helper == 0) exec_helper(&places, fd);
        _exit(helper < 0);
    }
    int status = 0;
    pid_t waited = pid;
    while (pid > 0 && (waited = waitpid(pid, &status, 0)) < 0 && errno == EINTR) {}
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid > 0 && !(waited == pid && status != 0); /* the debugger may have waited for it */
}

int helper_start(const char **why) {
    int fds[2];
    struct timeval patience = {PATIENCE_SECONDS, 0};
    struct wire_message hello;
    char text[WIRE_BYTES];
    *why = "cannot create a socket for ompd-inspect";
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds)) return -1;
    setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fds[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    bool started = spawn(fds[1]);
    close(fds[1]);
    *why = "cannot start the program ompd-inspect: set OMPD_INSPECT to its path, or put it next to libompd.so or "
           "in PATH";
    if (started && helper_receive(fds[0], &hello, text) && hello.kind == WIRE_HELLO) {
        if (hello.word[0] == WIRE_VERSION) return fds[0];
        *why = "the program ompd-inspect and libompd.so have different versions";
    }
    close(fds[0]);
    return -1;
}

void helper_stop(int fd) {
    if (fd >= 0) close(fd); /* the helper ends at the end of its input */
}

static bool send_all(int fd, const void *from, size_t n) {
    for (const char *p = from; n > 0;) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        p += sent, n -= (size_t)sent;
    }
    return true;
}

static bool receive_all(int fd, void *to, size_t n) {
    for (char *p = to; n > 0;) {
        ssize_t got = recv(fd, p, n, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        p += got, n -= (size_t)got;
    }
    return true;
}

bool helper_send(int fd, const struct wire_message *m, const void *bytes) {
    return m->size <= WIRE_BYTES && send_all(fd, m, sizeof *m) && send_all(fd, bytes, m->size);
}

bool helper_receive(int fd, struct wire_message *m, void *bytes) {
    return receive_all(fd, m, sizeof *m) && m->size <= WIRE_BYTES && receive_all(fd, bytes, m->size);
}
