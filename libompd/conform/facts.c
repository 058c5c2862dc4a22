/* facts.c: what is true of the program, from a text file of lines "KEY VALUE…". */
#include <stdlib.h>
#include <string.h>

#include "conform.h"

struct facts facts;

enum { MAX_SYMBOLS = 512 };
static struct {
    char name[80];
    unsigned long address;
} symbols[MAX_SYMBOLS];
static int symbol_count;

static struct {
    long lwp;
    int gtid;
} gtids[64];
static int gtid_count;

unsigned long fact_symbol(const char *name) {
    for (int i = 0; i < symbol_count; i++)
        if (!strcmp(symbols[i].name, name)) return symbols[i].address;
    return 0;
}

int fact_gtid(long lwp) {
    for (int i = 0; i < gtid_count; i++)
        if (gtids[i].lwp == lwp) return gtids[i].gtid;
    return -2; /* KMP_GTID_DNE */
}

/* numbers reads what follows into an array. */
static int numbers(const char *text, int *to, int max) {
    int n = 0;
    for (char *end; n < max; text = end) {
        long v = strtol(text, &end, 0);
        if (end == text) break;
        to[n++] = (int)v;
    }
    return n;
}

static bool add_thread(const char *rest) {
    if (facts.threads == sizeof facts.thread / sizeof *facts.thread) return false;
    struct thread_fact *t = &facts.thread[facts.threads++];
    int openmp, idle, in_task;
    if (sscanf(rest, "%ld %lx %d %d %d %d %d %d", &t->lwp, &t->pthread, &openmp, &idle, &in_task, &t->level, &t->number,
               &t->state) != 8)
        return false;
    t->openmp = openmp, t->idle = idle, t->in_task = in_task;
    return t->level < MAX_LEVELS;
}

/* of_thread is a line about the thread that came last. */
static bool of_thread(const char *key, const char *rest) {
    struct thread_fact *t = facts.threads ? &facts.thread[facts.threads - 1] : NULL;
    if (!t) return false;
    if (!strcmp(key, "sizes")) return numbers(rest, t->size, MAX_LEVELS) == t->level + 1;
    if (!strcmp(key, "ancestors")) return numbers(rest, t->ancestor, MAX_LEVELS) == t->level + 1;
    if (!strcmp(key, "data")) return sscanf(rest, "%lx %lx %lx", &t->data[0], &t->data[1], &t->data[2]) == 3;
    if (strcmp(key, "icv") || t->icvs == MAX_ICVS) return false;
    struct icv_fact *v = &t->icv[t->icvs++];
    return sscanf(rest, "%39s %ld", v->name, &v->value) == 2;
}

static bool add(const char *key, const char *rest) {
    if (!strcmp(key, "pid")) return sscanf(rest, "%d", &facts.pid) == 1;
    if (!strcmp(key, "tracking")) return facts.tracking = true;
    if (!strcmp(key, "dormant")) return facts.dormant = true;
    if (!strcmp(key, "version")) return sscanf(rest, "%ld", &facts.omp_version) == 1;
    if (!strcmp(key, "text")) return sscanf(rest, "%lx %lx", &facts.text_low, &facts.text_high) == 2;
    if (!strcmp(key, "control")) return sscanf(rest, " %127[^\n]", facts.control_var) == 1;
    if (!strcmp(key, "thread")) return add_thread(rest);
    if (!strcmp(key, "symbol")) {
        if (symbol_count == MAX_SYMBOLS) return false;
        return sscanf(rest, "%79s %lx", symbols[symbol_count].name, &symbols[symbol_count].address) == 2 && ++symbol_count;
    }
    if (!strcmp(key, "gtid")) {
        if (gtid_count == sizeof gtids / sizeof *gtids) return false;
        return sscanf(rest, "%ld %d", &gtids[gtid_count].lwp, &gtids[gtid_count].gtid) == 2 && ++gtid_count;
    }
    return of_thread(key, rest);
}

bool facts_read(const char *path) {
    FILE *f = fopen(path, "r");
    char line[512], key[32];
    bool ok = f != NULL;
    int used;
    while (ok && fgets(line, sizeof line, f))
        if (sscanf(line, "%31s%n", key, &used) == 1 && !(ok = add(key, line + used)))
            fprintf(stderr, "ompd-conform: %s: cannot use %s", path, line);
    if (f) fclose(f);
    return ok && facts.pid;
}
