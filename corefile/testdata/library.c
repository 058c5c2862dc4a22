// A library with a thread-local variable.
__thread int loaded_variable = 9;
int *address_of_loaded(void) { return &loaded_variable; }
