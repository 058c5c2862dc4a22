/* Functions that jump to places from memory: in a switch, and to other functions. */
extern void a(int), b(int), c(int), d(int), e(int), f(int);

struct object {
  void (*call)(int);
};

__attribute__((visibility("protected"))) void switched(int which, int x) {
  switch (which) {
  case 0:
    a(x + 1);
    break;
  case 1:
    b(x + 2);
    break;
  case 2:
    c(x + 3);
    break;
  case 3:
    d(x + 4);
    break;
  case 4:
    e(x + 5);
    break;
  case 5:
    f(x + 6);
    break;
  }
  a(0);
}

void in_loop(const int *which, int n) {
  for (int i = 0; i < n; i++)
    switched(which[i], i), b(i);
}

void by_argument(void (*call)(int), int x) { call(x + 1); }

void by_field(struct object *o, int x) { o->call(x + 1); }

void by_table(void (*const *calls)(int), int which) { calls[which](which); }

static void (*const list[])(int) = {a, b, c, d};

void by_list(int which) { list[which](which); }

/* both has a switch, and ends with a jump to another function. */
void both(int which, struct object *o) {
  switched(which, which);
  o->call(which);
}

/* by_label jumps through a table of the addresses of its labels. */
void by_label(const unsigned char *code) {
  static const void *const labels[] = {&&one, &&two, &&three, &&end};
next:
  goto *labels[*code++ & 3];
one:
  a(1);
  goto next;
two:
  b(2);
  goto next;
three:
  c(3);
  goto next;
end:;
}
