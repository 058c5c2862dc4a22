/* glibc_names.c: the functions of glibc that a static libgomp of a distribution needs, and that musl lacks. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int __fprintf_chk(FILE *f, int level, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int n = vfprintf(f, format, list);
  va_end(list);
  return n;
}
int __vfprintf_chk(FILE *f, int level, const char *format, va_list list) { return vfprintf(f, format, list); }
int __snprintf_chk(char *to, size_t n, int level, size_t room, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int out = vsnprintf(to, n, format, list);
  va_end(list);
  return out;
}
int __sprintf_chk(char *to, int level, size_t room, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int n = vsprintf(to, format, list);
  va_end(list);
  return n;
}
void *__memcpy_chk(void *to, const void *from, size_t n, size_t room) { return memcpy(to, from, n); }
void *__memset_chk(void *to, int c, size_t n, size_t room) { return memset(to, c, n); }
char *__strcpy_chk(char *to, const char *from, size_t room) { return strcpy(to, from); }
char *__strncpy_chk(char *to, const char *from, size_t n, size_t room) { return strncpy(to, from, n); }
char *__secure_getenv(const char *name) { return getenv(name); }
long __sysconf(int name) { return sysconf(name); }
int pthread_attr_setaffinity_np(void *attr, size_t n, const void *set) { return 0; }
