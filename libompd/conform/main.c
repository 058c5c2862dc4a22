/* main.c: ompd-conform, a test of OMPD libraries.
 *
 *     ompd-conform LIBRARY FACTS [VERSION]      asserts, and prints "ROUTINE held failed" for each routine
 *     ompd-conform LIBRARY FACTS bench ROUNDS   prints calls per second
 *     ompd-conform LIBRARY FACTS host PIDFILE   asserts that the library behaves in a debugger's process; PIDFILE
 *                                               contains its helper
 *
 * FACTS is a file with the facts about a running program that does not move: see facts.c. Assertions that fail are
 * printed on the standard error. The exit status is 0 whatever the library does, and 2 if it cannot be tested.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "conform.h"

static void *load(struct api *api, const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "ompd-conform: %s\n", dlerror());
        return NULL;
    }
#define R(f) api->f = (__typeof__(f) *)dlsym(library, #f);
    ROUTINES(R)
#undef R
    return library;
}

static void check_all(struct suite *s, ompd_word_t version) {
    suite_catch_crashes(s);
    check_life(s);
    if (s->facts->dormant) {
        check_dormant(s, version);
        return;
    }
    check_program(s, version);
    check_misuse(s, version);
    if (version == 201811) check_faults(s);
    check_threads(s);
}

int main(int argc, char **argv) {
    static struct api api;
    static struct facts facts;
    static struct tool tool;
    static struct results results;
    static struct suite suite;
    void *library = argc < 3 ? NULL : load(&api, argv[1]);
    if (!library || !facts_read(&facts, argv[2])) {
        fprintf(stderr, "usage: ompd-conform LIBRARY FACTS [VERSION | bench ROUNDS | host PIDFILE]\n");
        return 2;
    }
    suite_enter(&suite, &(struct suite){.api = &api, .tool = &tool, .facts = &facts, .results = &results});
    tool_open(&suite);
    if (argc == 5 && !strcmp(argv[3], "bench")) {
        bench(&suite, atol(argv[4]));
        return 0;
    }
    if (argc == 5 && !strcmp(argv[3], "host"))
        check_host(&suite, library, argv[4]);
    else
        check_all(&suite, argc > 3 ? atol(argv[3]) : 201811);
    report(&results);
    return 0;
}
