/* ompdhost loads an OMPD library and lets another process call its functions.
 *
 * The protocol has lines: "call NAME ARG…" calls a function, "peek ADDR N" returns memory of this process, "text
 * ADDR" a string of it. The answer starts with "=". While a call runs, the library's callbacks send requests to the
 * other process in lines that start with "?". The answer to each is one line "RC HEX".
 *
 * An ARG is a number, "-" for a null pointer, "o" for a pointer to 8 bytes that are 0 before the call and shown
 * after it, or "bHEX" for a pointer to a copy of bytes, shown after it as well.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 1 << 18, ARGS = 6, OK = 0, BAD_INPUT = 3, ERROR = 4, CALLBACK_ERROR = 12 };

typedef struct { uint64_t segment, address; } address;
typedef struct { uint8_t c, s, i, l, ll, p; } sizes;
typedef struct { uint64_t kind, value; } thread;

static FILE *out;
static char line[LINE];

static void next_line(void) {
    fflush(out);
    if (!fgets(line, LINE, stdin)) exit(0);
    line[strcspn(line, "\n")] = 0;
}

static size_t unhex(const char *s, uint8_t *to, size_t max) {
    size_t n = 0;
    for (unsigned byte; n < max && sscanf(s + 2 * n, "%2x", &byte) == 1; n++) to[n] = byte;
    return n;
}

static void hex(const uint8_t *p, size_t n) {
    for (size_t i = 0; i < n; i++) fprintf(out, "%02x", p[i]);
}

/* answer reads "RC HEX" into the n bytes at to. */
static int answer(void *to, size_t n) {
    next_line();
    char *rest;
    long rc = strtol(line, &rest, 10);
    if (rc == OK && unhex(rest + strspn(rest, " "), to, n) != n) return CALLBACK_ERROR;
    return (int)rc;
}

/* Memory from this callback is 0: libompd leaves parts of its handles unwritten. */
static int alloc_memory(uint64_t n, void **p) { return (*p = calloc(1, n)) ? OK : ERROR; }
static int free_memory(void *p) { free(p); return OK; }
static int print_string(const char *s, int category) { (void)category; fputs(s, stderr); return OK; }

static int sizeof_type(void *ctx, sizes *s) {
    (void)ctx;
    *s = (sizes){1, 2, 4, 8, 8, 8};
    return OK;
}

static int symbol(void *ctx, thread *t, const char *name, address *a, const char *file) {
    (void)ctx, (void)file;
    fprintf(out, "? symbol %" PRIu64 " %s\n", t ? t->value : 0, name);
    a->segment = 0;
    return answer(&a->address, sizeof a->address);
}

static int read_memory(void *ctx, thread *t, const address *a, uint64_t n, void *to) {
    (void)ctx, (void)t;
    fprintf(out, "? read %" PRIu64 " %" PRIu64 "\n", a->address, n);
    return answer(to, n);
}

static int read_string(void *ctx, thread *t, const address *a, uint64_t n, void *to) {
    (void)ctx, (void)t;
    fprintf(out, "? string %" PRIu64 " %" PRIu64 "\n", a->address, n);
    return answer(to, n);
}

static int write_memory(void *ctx, thread *t, const address *a, uint64_t n, const void *from) {
    (void)ctx, (void)t, (void)a, (void)n, (void)from;
    return ERROR;
}

static int convert(void *ctx, const void *from, uint64_t size, uint64_t n, void *to) {
    (void)ctx;
    memmove(to, from, size * n);
    return OK;
}

static int thread_context(void *ctx, uint64_t kind, uint64_t size, const void *id, thread **t) {
    (void)ctx;
    if (size > sizeof(*t)->value) return BAD_INPUT;
    thread *new = calloc(1, sizeof *new);
    new->kind = kind;
    memcpy(&new->value, id, size);
    *t = new;
    return OK;
}

static void *callbacks[] = {
    (void *)alloc_memory, (void *)free_memory, (void *)print_string, (void *)sizeof_type, (void *)symbol,
    (void *)read_memory, (void *)write_memory, (void *)read_string, (void *)convert, (void *)convert,
    (void *)thread_context,
};

static void call(void *library, char *words) {
    uint8_t buffers[ARGS][64];
    size_t shown[ARGS] = {0};
    long args[ARGS] = {0};
    char *name = strtok(words, " "), *w;
    for (int i = 0; i < ARGS && (w = strtok(NULL, " ")); i++) {
        if (*w == 'o') {
            memset(buffers[i], 0, shown[i] = 8);
            args[i] = (long)buffers[i];
        } else if (*w == 'b') {
            shown[i] = unhex(w + 1, buffers[i], sizeof buffers[i]);
            args[i] = (long)buffers[i];
        } else if (*w == 'c') {
            args[i] = (long)callbacks;
        } else if (strcmp(w, "-")) {
            args[i] = (long)strtoull(w, NULL, 0);
        }
    }
    int (*f)(long, long, long, long, long, long) = (int (*)(long, long, long, long, long, long))dlsym(library, name);
    if (!f) {
        fprintf(out, "= missing\n");
        return;
    }
    int rc = f(args[0], args[1], args[2], args[3], args[4], args[5]);
    fprintf(out, "= %d", rc);
    for (int i = 0; i < ARGS; i++) {
        if (!shown[i]) continue;
        fputc(' ', out);
        hex(buffers[i], shown[i]);
    }
    fputc('\n', out);
}

int main(int argc, char **argv) {
    out = fdopen(dup(1), "w"); /* the library's output goes to the standard error */
    dup2(2, 1);
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) {
        fprintf(stderr, "ompdhost: %s\n", argc == 2 ? dlerror() : "one argument, the library, is wanted");
        return 1;
    }
    fprintf(out, "= ready\n");
    for (;;) {
        next_line();
        char *rest = strchr(line, ' ');
        if (!rest) return 1;
        *rest++ = 0;
        if (!strcmp(line, "call")) {
            call(library, rest);
            continue;
        }
        char *end;
        const uint8_t *at = (const uint8_t *)strtoull(rest, &end, 0);
        fputs("= ", out);
        hex(at, strcmp(line, "text") ? strtoull(end, NULL, 0) : strlen((const char *)at));
        fputc('\n', out);
    }
}
