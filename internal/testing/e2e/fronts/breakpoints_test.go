package fronts

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// counted are the numbers that the program events prints.
type counted struct{ regions, serialized, tasks, workers int }

// TestBreakpointsAreHit sets breakpoints at the addresses that the tool prints for a stripped runtime, and counts
// gdb's stops there: one for each region, task and thread of the program. Without OMP_DEBUG=enabled the sites are
// passed as often, and the locations themselves never.
func TestBreakpointsAreHit(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "events"})
	for _, major := range []int{14, 16, 19} {
		for _, env := range []string{"enabled", "disabled"} {
			t.Run(fmt.Sprintf("libomp-%d/%s", major, env), func(t *testing.T) {
				t.Parallel()
				rt := omptest.RuntimeOf(t, major)
				s := underGdb(t, exe, "LD_LIBRARY_PATH="+rt.Dir, "OMP_DEBUG="+env)
				defer s.quit()
				list := locationsOf(t, s.pid)
				number := map[string][]int{} // of the breakpoints of each location
				for _, l := range list.Locations {
					if l.Source != "code" {
						continue
					}
					if l.Active != (env == "enabled" || l.Name == "ompd_dll_locations_valid") {
						t.Errorf("%s: active %v", l.Name, l.Active)
					}
					if number[l.Name] = append(number[l.Name],
						s.stopAt(l.Address.String())); l.Name == "ompd_dll_locations_valid" {
						continue
					}
					for _, site := range l.Sites {
						number[l.Name+" sites"] = append(number[l.Name+" sites"], s.stopAt(site.String()))
					}
				}
				n := s.finish()
				hits := s.hits()
				begun := n.regions
				if env == "enabled" {
					begun += n.serialized // if it keeps frames for tools, it starts these too
				}
				for what, want := range map[string]int{
					"ompd_dll_locations_valid": 0, // it was passed before
					"ompd_bp_parallel_begin":   begun, "ompd_bp_parallel_end": n.regions + n.serialized,
					"ompd_bp_task_begin": n.tasks, "ompd_bp_task_end": n.tasks, "ompd_bp_thread_begin": n.workers,
					"ompd_bp_thread_end": n.workers + 1, // the initial thread ends too
				} {
					if what != "ompd_dll_locations_valid" {
						s.expect(what+" sites", sum(hits, number[what+" sites"]), want)
					}
					if env == "disabled" {
						want = 0
					}
					s.expect(what, sum(hits, number[what]), want)
				}
				if n.regions == 0 || n.tasks == 0 || n.workers == 0 {
					t.Errorf("the program has %+v", n)
				}
			})
		}
	}
}

func sum(hits map[int]int, numbers []int) int {
	n := 0
	for _, b := range numbers {
		n += hits[b]
	}
	return n
}

// locationsOf runs the tool on a process and returns its breakpoints.
func locationsOf(t *testing.T, pid int) *picture.Breakpoints {
	t.Helper()
	status, out, errs := e2e.Output(t, "breakpoints", "--json", strconv.Itoa(pid))
	if status != cli.ExitOK {
		t.Fatalf("exit status %d: %s", status, errs)
	}
	omptest.Validate(t, "breakpoints", []byte(out))
	var list picture.Breakpoints
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	return &list
}

// session is the program events under gdb, stopped at marker.
type session struct {
	*e2e.Debugger
	t   *testing.T
	pid int
}

func underGdb(t *testing.T, exe string, env ...string) *session {
	t.Helper()
	args := []string{"-q", "-nx", "-iex", "set debuginfod enabled off", "-iex", "set pagination off", "-iex",
		"set confirm off"}
	for _, e := range env {
		args = append(args, "-ex", "set environment "+strings.Replace(e, "=", " ", 1))
	}
	d := e2e.StartGDB(t, append(args, exe)...)
	s := &session{Debugger: d, t: t}
	fmt.Fprintln(d.Input, "break marker\nrun\ninfo inferiors\necho STOPPED\\n")
	text := d.Await(t, "STOPPED\n")
	m := regexp.MustCompile(`process (\d+)`).FindStringSubmatch(text)
	if m == nil || !strings.Contains(text, "Breakpoint 1, ") {
		t.Fatalf("gdb: %s", text)
	}
	s.pid, _ = strconv.Atoi(m[1])
	return s
}

// stopAt sets a breakpoint that only counts, and returns its number.
func (s *session) stopAt(address string) int {
	s.t.Helper()
	fmt.Fprintf(s.Input, "break *%s\nignore $bpnum 1000000\necho SET\\n\n", address)
	text := s.Await(s.t, "SET\n")
	m := regexp.MustCompile(`Breakpoint (\d+) at`).FindStringSubmatch(text)
	if m == nil {
		s.t.Fatalf("break *%s: %s", address, text)
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// finish runs the program to its end and returns its output.
func (s *session) finish() (n counted) {
	s.t.Helper()
	fmt.Fprintln(s.Input, "continue\necho ENDED\\n")
	text := s.Await(s.t, "ENDED\n")
	at := strings.Index(text, "regions ")
	if at < 0 || !strings.Contains(text, "exited normally") {
		s.t.Fatalf("the program: %s", text)
	}
	if _, err := fmt.Sscanf(text[at:], "regions %d serialized %d tasks %d workers %d", &n.regions, &n.serialized,
		&n.tasks, &n.workers); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// hits returns the numbers of hits by the number of the breakpoint.
func (s *session) hits() map[int]int {
	s.t.Helper()
	fmt.Fprintln(s.Input, "info breakpoints\necho LISTED\\n")
	text := s.Await(s.t, "LISTED\n")
	hits := map[int]int{}
	number := 0
	line := regexp.MustCompile(`(?m)^(\d+)\s+breakpoint|already hit (\d+) time`)
	for _, m := range line.FindAllStringSubmatch(text, -1) {
		if m[1] != "" {
			number, _ = strconv.Atoi(m[1])
		} else {
			hits[number], _ = strconv.Atoi(m[2])
		}
	}
	return hits
}

func (s *session) expect(what string, got, want int) {
	s.t.Helper()
	if got != want {
		s.t.Errorf("%s: %d hits, want %d", what, got, want)
	}
}

func (s *session) quit() {
	fmt.Fprintln(s.Input, "kill\nquit")
	_ = s.Wait()
}

// TestBreakpointsOfCore checks the breakpoints of a core, as text and with the sites.
func TestBreakpointsOfCore(t *testing.T) {
	core := e2e.DumpProgram(t, "taskwait").Core
	status, out, errs := e2e.Output(t, "breakpoints", "--json", core)
	if status != cli.ExitOK {
		t.Fatalf("exit status %d: %s", status, errs)
	}
	omptest.Validate(t, "breakpoints", []byte(out))
	status, text, errs := e2e.Output(t, "breakpoints", "--sites", core)
	if status != cli.ExitOK {
		t.Fatalf("exit status %d: %s", status, errs)
	}
	var list picture.Breakpoints
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	for _, l := range list.Locations {
		if l.Address != nil && !strings.Contains(text, l.Address.String()) || len(l.Sites) > 0 &&
			!strings.Contains(text, l.Sites[0].String()) {
			t.Errorf("the text lacks %+v:\n%s", l, text)
		}
	}
	for _, w := range []string{"parallel_pre_execute", "not started with OMP_DEBUG=enabled", "8 of 13 locations",
		"__kmp_fork_call", "equivalent"} {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in\n%s", w, text)
		}
	}
}
