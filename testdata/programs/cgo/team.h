void team_init(int argc, char **argv);
void team(void);
void team_goroutine(long id);
void team_trigger(void);
void team_hold(void);
void team_sleep(const char *function, const char *file, int line);
