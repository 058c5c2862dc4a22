/* facts.c: the facts about the program, from a text file with lines "KEY VALUE…". */
#include <stdlib.h>
#include <string.h>

#include "conform.h"

unsigned long fact_symbol(const struct facts *facts, const char *name) {
    for (int i = 0; i < facts->symbols; i++)
        if (!strcmp(facts->symbol[i].name, name)) return facts->symbol[i].address;
    return 0;
}

int fact_gtid(const struct facts *facts, long lwp) {
    for (int i = 0; i < facts->gtids; i++)
        if (facts->gtid[i].lwp == lwp) return facts->gtid[i].gtid;
    return -2; /* KMP_GTID_DNE */
}

/* read_numbers reads the numbers of a text into an array and returns how many it has read. */
static int read_numbers(const char *text, int *to, int max) {
    int n = 0;
    for (char *end; n < max; text = end) {
        long v = strtol(text, &end, 0);
        if (end == text) break;
        to[n++] = (int)v;
    }
    return n;
}

static bool add_thread(struct facts *facts, const char *rest) {
    if (facts->threads == MAX_THREADS) return false;
    struct thread_fact *t = &facts->thread[facts->threads++];
    int openmp, idle, in_task;
    if (sscanf(rest, "%ld %lx %d %d %d %d %d %d", &t->lwp, &t->pthread, &openmp, &idle, &in_task, &t->level, &t->number,
               &t->state) != 8)
        return false;
    t->openmp = openmp, t->idle = idle, t->in_task = in_task;
    return t->level < MAX_LEVELS;
}

/* add_thread_detail reads a line about the last thread. */
static bool add_thread_detail(struct facts *facts, const char *key, const char *rest) {
    struct thread_fact *t = facts->threads ? &facts->thread[facts->threads - 1] : NULL;
    if (!t) return false;
    if (!strcmp(key, "sizes")) return read_numbers(rest, t->size, MAX_LEVELS) == t->level + 1;
    if (!strcmp(key, "ancestors")) return read_numbers(rest, t->ancestor, MAX_LEVELS) == t->level + 1;
    if (!strcmp(key, "data")) return sscanf(rest, "%lx %lx %lx", &t->data[0], &t->data[1], &t->data[2]) == 3;
    if (strcmp(key, "icv") || t->icvs == MAX_ICVS) return false;
    struct icv_fact *v = &t->icv[t->icvs++];
    return sscanf(rest, "%39s %ld", v->name, &v->value) == 2;
}

static bool add_fact(struct facts *facts, const char *key, const char *rest) {
    if (!strcmp(key, "pid")) return sscanf(rest, "%d", &facts->pid) == 1;
    if (!strcmp(key, "tracking")) return facts->tracking = true;
    if (!strcmp(key, "dormant")) return facts->dormant = true;
    if (!strcmp(key, "version")) return sscanf(rest, "%ld", &facts->omp_version) == 1;
    if (!strcmp(key, "text")) return sscanf(rest, "%lx %lx", &facts->text_low, &facts->text_high) == 2;
    if (!strcmp(key, "control")) return sscanf(rest, " %127[^\n]", facts->control_var) == 1;
    if (!strcmp(key, "thread")) return add_thread(facts, rest);
    if (!strcmp(key, "symbol")) {
        if (facts->symbols == MAX_SYMBOLS) return false;
        struct symbol_fact *symbol = &facts->symbol[facts->symbols++];
        return sscanf(rest, "%79s %lx", symbol->name, &symbol->address) == 2;
    }
    if (!strcmp(key, "gtid")) {
        if (facts->gtids == MAX_THREADS) return false;
        struct gtid_fact *gtid = &facts->gtid[facts->gtids++];
        return sscanf(rest, "%ld %d", &gtid->lwp, &gtid->gtid) == 2;
    }
    return add_thread_detail(facts, key, rest);
}

bool facts_read(struct facts *facts, const char *path) {
    FILE *f = fopen(path, "r");
    char line[512], key[32];
    bool ok = f != NULL;
    int used;
    while (ok && fgets(line, sizeof line, f))
        if (sscanf(line, "%31s%n", key, &used) == 1 && !(ok = add_fact(facts, key, line + used)))
            fprintf(stderr, "ompd-conform: %s: cannot use %s", path, line);
    if (f) fclose(f);
    return ok && facts->pid;
}
