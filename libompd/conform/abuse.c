/* abuse.c: what happens to the library in the middle of a routine: its helper dies, its socket is cut, the debugger
 * leaves a callback by longjmp, ends the thread in it, or forks. Each routine returns, and the library can be used anew.
 */
#include <pthread.h>
#include <setjmp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform.h"

static const char *helper_file;
static jmp_buf away;
static ompd_address_space_handle_t *space;

static void kill_it(void) { kill_helper(helper_file); }

static void cut(void) {
    for (int fd = 3; fd < 256; fd++) shutdown(fd, SHUT_RDWR); /* what is no socket is left alone */
}

static void leave(void) { longjmp(away, 1); }

static void end_thread(void) { pthread_exit(NULL); }

/* in_fork asks the library in a process that is forked off while a routine is running. */
static void in_fork(void) {
    ompd_word_t version;
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(600);
        int rc = (int)api.ompd_get_omp_version(space, &version);
        bool again = api.ompd_initialize(202111, &callbacks) == ompd_rc_ok && api.ompd_finalize() == ompd_rc_ok;
        _exit(rc == ompd_rc_error && again ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    HOLDS(ompd_initialize, WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %#x in a forked process", status);
}

/* ask asks what needs the target's memory. */
static int ask(void) {
    ompd_word_t version = 0;
    return CALL(ompd_get_omp_version, space, &version);
}

/* deeper asks from a frame below that of the routine that was left. */
static int deeper(int n) {
    volatile char room[512];
    for (unsigned i = 0; i < sizeof room; i++) room[i] = (char)n;
    return n > 0 ? deeper(n - 1) + room[n] - n : ask();
}

static void *ask_in_thread(void *arg) {
    (void)arg;
    ask();
    return NULL;
}

static bool begin(void) {
    return OK(ompd_initialize, 202111, &callbacks) && OK(ompd_process_initialize, context(0), &space) && ask() == ompd_rc_ok;
}

static void end(void) {
    OK(ompd_rel_address_space_handle, space);
    OK(ompd_finalize);
    HOLDS(ompd_finalize, tool.blocks == 0, "%ld blocks are left", tool.blocks);
}

void check_abuse(const char *pid_file) {
    static const struct {
        const char *what;
        void (*do_it)(void);
    } breaks[] = {{"the helper is killed in a routine", kill_it}, {"the socket is cut in a routine", cut}};
    helper_file = pid_file;
    for (unsigned i = 0; i < sizeof breaks / sizeof *breaks; i++) {
        about("%s", breaks[i].what);
        if (!begin()) return;
        tool.at_read = breaks[i].do_it;
        int rc = ask();
        HOLDS(ompd_get_omp_version, rc == ompd_rc_error, "returns %d", rc);
        rc = ask();
        HOLDS(ompd_get_omp_version, rc == ompd_rc_error, "returns %d the second time", rc);
        end();
    }
    for (volatile int depth = 0; depth <= 8; depth += 8) {
        about("a callback is left by longjmp, and the library called %d frames deeper", depth);
        if (!begin()) return;
        tool.at_read = leave;
        if (!setjmp(away)) {
            ask();
            HOLDS(ompd_get_omp_version, false, "it has not called back");
        }
        int rc = deeper(depth);
        HOLDS(ompd_get_omp_version, rc == ompd_rc_error, "returns %d", rc);
        end();
    }
    about("a thread ends in a callback");
    if (!begin()) return;
    pthread_t thread;
    tool.at_read = end_thread;
    pthread_create(&thread, NULL, ask_in_thread, NULL);
    pthread_join(thread, NULL);
    int rc = ask();
    HOLDS(ompd_get_omp_version, rc == ompd_rc_error, "returns %d", rc);
    end();
    about("a debugger forks in a callback");
    if (!begin()) return;
    tool.at_read = in_fork;
    rc = ask();
    HOLDS(ompd_get_omp_version, rc == ompd_rc_ok, "returns %d in the process that forked", rc);
    end();
}
