package record

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/omptrecord"
)

// recorderMapping is the name of the mapping with the recorder's header, and magic the header's first bytes.
const (
	recorderMapping = "/memfd:ompd-recorder"
	recorderMagic   = "\x7fOMPDREC\r\n\x1a\x00"
)

// TestRecordOfCrashes runs programs that die with the recorder: their cores contain the record, and the exit
// status is the program's.
func TestRecordOfCrashes(t *testing.T) {
	library := omptest.Recorder(t)
	for _, runtime := range []omptest.Runtime{omptest.RuntimeOf(t, 16), omptest.RuntimeOf(t, 19), omptest.Libgomp(t)} {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			core := filepath.Join(dir, "core")
			b := omptest.Build{Program: "lock_cycle"}
			if runtime.Name == omptest.Libgomp(t).Name {
				b.Compiler = omptest.GCC
			}
			exe := omptest.Compile(t, b)
			status, out, errs := e2e.Output(t, "record", "--library", library, "--memory", "4M",
				"--events", "default,+dispatch", "--core", core, "--save", core+".saved",
				"--report", filepath.Join(dir, "report"), "--",
				"env", "LD_LIBRARY_PATH="+runtime.Dir,
				"OMPD_TRUTH="+filepath.Join(dir, "truth"), exe, "abort")
			if status != cli.ExitSignal+6 || out != "" || errs != "" {
				t.Errorf("exit status %d, printed %q and %q", status, out, errs)
			}
			header := recorderHeader(t, core, exe)
			if !bytes.HasPrefix(header, []byte(recorderMagic)) {
				t.Errorf("the header begins with %q", header[:16])
			}
			checkTrace(t, core, exe)
			checkTimeline(t, core, exe)
			if header := recorderHeader(t, core+".saved", exe); !bytes.HasPrefix(header, []byte(recorderMagic)) {
				t.Errorf("the saved header begins with %q", header[:16])
			}
		})
	}
}

// checkTrace reads the record of lock_cycle: two threads each hold a lock and wait for the other's.
func checkTrace(t *testing.T, core, exe string) {
	t.Helper()
	status, out, errs := e2e.Output(t, "trace", "--exe", exe, "--events", "5", core)
	if status != 0 || errs != "" || !strings.HasPrefix(out, "recorded in process ") {
		t.Errorf("trace: exit status %d, printed %q and %q", status, out, errs)
	}
	asked := regexp.MustCompile(`(?m)^ +-\d+\.\d{6} +(?:\d+ of \d+ +)?(\d+)  asks for lock \S+ .*lock_cycle\.c:\d+$`)
	acquired := regexp.MustCompile(`(?m)^ +-\d+\.\d{6} +(?:\d+ of \d+ +)?(\d+)  acquires lock \S+ .*lock_cycle\.c:\d+$`)
	for _, want := range []*regexp.Regexp{asked, acquired} {
		lwps := map[string]bool{}
		for _, m := range want.FindAllStringSubmatch(out, -1) {
			lwps[m[1]] = true
		}
		if len(lwps) < 2 {
			t.Errorf("%v matches events of the threads %v, want two\n%s", want, lwps, out)
		}
	}
	status, out, errs = e2e.Output(t, "diagnose", "--exe", exe, core)
	if status != cli.ExitFound || errs != "" || strings.Count(out, ": recorded: it acquired lock ") != 2 {
		t.Errorf("diagnose: exit status %d, printed %q and %q", status, out, errs)
	}
	status, out, errs = e2e.Output(t, "trace", "stats", "--exe", exe, core)
	if status != 0 || errs != "" || !strings.Contains(out, "wait for lock ") || !strings.Contains(out, "not over") ||
		strings.Count(out, ", and waits for lock ") != 2 {
		t.Errorf("stats: exit status %d, printed %q and %q", status, out, errs)
	}
	if status, _, errs := e2e.Output(t, "trace", "--region", "seven", core); status != cli.ExitUsage || errs == "" {
		t.Errorf("--region seven: exit status %d, printed %q", status, errs)
	}
	checkNone(t, core)
	file := filepath.Join(t.TempDir(), "lock_cycle.jsonl")
	status, out, errs = e2e.Output(t, "trace", "--exe", exe, "--names", "2013", "-o", file, core)
	b, err := os.ReadFile(file)
	found := bytes.Contains(b, []byte(`"event":"ompt_event_wait_lock"`)) &&
		bytes.Contains(b, []byte(`"event":"recorder_thread"`))
	if status != 0 || out != "" || errs != "" || err != nil || !found {
		t.Errorf("-o: exit status %d, printed %q and %q, wrote %q: %v", status, out, errs, b, err)
	}
	file = strings.TrimSuffix(file, ".jsonl") + ".ompt-records"
	status, _, _ = e2e.Output(t, "trace", "--exe", exe, "-o", file, core)
	if b, err = os.ReadFile(file); status != 0 || err != nil || len(b) < 10*omptrecord.Size {
		t.Errorf("-o: exit status %d, wrote %d bytes: %v", status, len(b), err)
	}
	for len(b) > 0 {
		if _, err := omptrecord.Parse(b); err != nil {
			t.Fatalf("%d bytes before the end: %v", len(b), err)
		}
		b = b[omptrecord.Size:]
	}
}

// checkNone queries a core for records that it lacks: that is an error that lists the existing ones, not an empty
// list.
func checkNone(t *testing.T, core string) {
	t.Helper()
	for _, c := range []struct {
		line   []string
		status int
		says   string
	}{
		{[]string{"--thread", "1"}, cli.ExitError, "no event of thread 1 was recorded, only of "},
		{[]string{"--thread", "1", "--last", "1s", "--json"}, cli.ExitError, "no event of thread 1 was recorded"},
		{[]string{"--region", "77.7"}, cli.ExitError, "no event of region 77.7 is there"},
		{[]string{"--thread", "0"}, cli.ExitUsage, "--thread: 0 is not the number of a thread"},
		{[]string{"--thread", "1", "-o", filepath.Join(t.TempDir(), "x.json")}, cli.ExitUsage, "leave out --thread, "},
	} {
		status, out, errs := e2e.Output(t, append(append([]string{"trace"}, c.line...), core)...)
		if status != c.status || out != "" || !strings.Contains(errs, c.says) {
			t.Errorf("%v: exit status %d, printed %q and %q", c.line, status, out, errs)
		}
	}
}

// TestRecordSaveEnds reads the files of record --save for programs that were ended by SIGTERM, and for those that
// hang.
func TestRecordSaveEnds(t *testing.T) {
	library, runtime := omptest.Recorder(t), omptest.RuntimeOf(t, 19)
	// The program's input never ends: the shell holds both ends of it.
	term := `mkfifo "$1" "$1.in" && exec 3<>"$1.in" && { "$0" 0 <&3 >"$1" & read line <"$1"; kill -TERM $!; wait $!; }`
	for _, c := range []struct {
		program, script, says string
		status                int
	}{
		{"history", term, "acquires critical ledger ", cli.ExitSignal + 15},
		{"lock_cycle", `exec "$0"`, "asks for lock second ", cli.ExitHang},
	} {
		t.Run(c.program, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "recording")
			status, _, errs := e2e.Output(t, "record", "--library", library, "--save", file, "--hang-after", "2s",
				"--report", filepath.Join(dir, "report"), "--", "env", "LD_LIBRARY_PATH="+runtime.Dir,
				"OMPD_TRUTH="+filepath.Join(dir, "truth"), "sh", "-c", c.script,
				omptest.Compile(t, omptest.Build{Program: c.program}), filepath.Join(dir, "pipe"))
			if status != c.status {
				t.Errorf("exit status %d, want %d, printed %q", status, c.status, errs)
			}
			status, out, errs := e2e.Output(t, "trace", "--events", "0", "--all", file)
			if status != 0 || errs != "" || !strings.Contains(out, c.says) {
				t.Errorf("trace: exit status %d, printed %.3000q and %q", status, out, errs)
			}
			if c.status == cli.ExitHang {
				checkStanding(t, file)
			} else {
				checkRepeats(t, file, strings.Count(out, "\n"))
			}
		})
	}
}

// checkRepeats requires that trace prints repeats of a critical section as one line, and that these are most events of
// the program; lines is the number of lines with all events.
func checkRepeats(t *testing.T, file string, lines int) {
	t.Helper()
	status, out, errs := e2e.Output(t, "trace", "--events", "0", file)
	repeats := regexp.MustCompile(`(?m)  .*critical ledger.* ×[\d,]+ in .*$`)
	if status != 0 || !repeats.MatchString(out) || strings.Count(out, "\n") > lines/2 {
		t.Errorf("trace: exit status %d, printed %.3000s%s", status, out, errs)
	}
	status, counts, errs := e2e.Output(t, "trace", "--summary", file)
	if status != 0 || !strings.Contains(counts, "× ") {
		t.Errorf("trace --summary: exit status %d, printed %.3000s%s", status, counts, errs)
	}
}

// checkStanding requires that the saved record of a hang shows the hang's duration: the age of the last events
// and the lengths of the waits match it.
func checkStanding(t *testing.T, file string) {
	t.Helper()
	status, out, errs := e2e.Output(t, "trace", "--events", "1", file)
	long := regexp.MustCompile(`(?m)^ +-([1-9]|\d\d+)\.\d{6} +(?:\d+ of \d+ +)?\d+  asks for lock `)
	if status != 0 || len(long.FindAllString(out, -1)) != 2 {
		t.Errorf("trace: exit status %d, printed %s%s", status, out, errs)
	}
	status, out, errs = e2e.Output(t, "trace", "stats", file)
	waits := regexp.MustCompile(`(?m)^ +[\d.]+ % +wait for lock .* 1 waited [\dm]+(\.\d+)?s; .*; 1 not over$`)
	if status != 0 || len(waits.FindAllString(out, -1)) != 2 {
		t.Errorf("trace stats: exit status %d, printed %s%s", status, out, errs)
	}
	status, out, errs = e2e.Output(t, "trace", "--last", "100ms", file)
	if status != 0 || !strings.Contains(out, "no event matches ") {
		t.Errorf("trace --last: exit status %d, printed %s%s", status, out, errs)
	}
}

// TestRecordHangAfter ends a program in which threads try in vain to acquire a lock, but not one in which threads
// acquire one, though looks find both asleep at one place.
func TestRecordHangAfter(t *testing.T) {
	library, rt := omptest.Recorder(t), omptest.RuntimeOf(t, 19)
	for way, want := range map[string]int{"locks": cli.ExitSignal + 15, "tests": cli.ExitHang} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			status, _, errs := e2e.Output(t, "record", "--library", library, "--hang-after", "1s",
				"--report", filepath.Join(dir, "report"), "--", "env", "LD_LIBRARY_PATH="+rt.Dir,
				"OMPD_TRUTH="+filepath.Join(dir, "truth"), "timeout", "6", omptest.Compile(t,
					omptest.Build{Program: "polls", Flags: []string{"-O2"}}), "wait", way)
			if way == "locks" && status == 124 { // timeout reports that it has sent SIGTERM
				status = want
			}
			if status != want {
				t.Errorf("exit status %d, want %d, printed %q", status, want, errs)
			}
		})
	}
}

// TestRecordSave reads the file of record --save for a program that ended by itself, also when the file is
// truncated.
func TestRecordSave(t *testing.T) {
	library := omptest.Recorder(t)
	for _, runtime := range []omptest.Runtime{omptest.RuntimeOf(t, 19), omptest.Libgomp(t)} {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			b := omptest.Build{Program: "history"}
			if runtime.Name == omptest.Libgomp(t).Name {
				b.Compiler = omptest.GCC
			}
			file := filepath.Join(t.TempDir(), "history.recording")
			status, _, errs := e2e.Output(t, "record", "--library", library, "--save", file, "--",
				"env", "LD_LIBRARY_PATH="+runtime.Dir, "sh", "-c", `exec "$0" 0 >/dev/null`, omptest.Compile(t, b))
			if status != 0 || errs != "" {
				t.Errorf("exit status %d, printed %q", status, errs)
			}
			status, out, errs := e2e.Output(t, "trace", "--all", "--events", "0", file)
			if status != 0 || errs != "" || strings.Count(out, "acquires lock debit ") != 2 ||
				strings.Count(out, "acquires critical ") != 4*32 || strings.Contains(out, "gomp") ||
				!strings.Contains(out, "transfer history.c:23") || !strings.Contains(out, ": 4 threads, ") {
				t.Errorf("trace: exit status %d, printed %.3000q and %q", status, out, errs)
			}
			checkNoPicture(t, file)
			checkCut(t, file)
			checkSmallTasks(t, library, runtime, omptest.Compile(t, b))
		})
	}
}

// checkNoPicture requires that verbs which need the program's memory name the kind of the file and the verb that
// reads it.
func checkNoPicture(t *testing.T, file string) {
	t.Helper()
	for _, verb := range []string{"report", "diagnose", "threads", "regions", "tasks"} {
		status, out, errs := e2e.Output(t, verb, file)
		if status != cli.ExitError || out != "" || strings.Count(errs, "\n") != 1 ||
			!strings.Contains(errs, "`ompd-inspect trace "+file+"` shows the events") {
			t.Errorf("%s: exit status %d, printed %q and %q", verb, status, out, errs)
		}
	}
}

// checkSmallTasks requires the verdict of trace stats on the cost of recording small tasks, and no such verdict
// for the healthy twin with long tasks. On a busy machine, one interrupted task makes the mean of 400 tasks of some
// hundred nanoseconds too long, so the program gets several runs, and each must have the verdict that fits its mean.
func checkSmallTasks(t *testing.T, library string, runtime omptest.Runtime, exe string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tasks.recording")
	stats := func(arg string) string {
		status, _, errs := e2e.Output(t, "record", "--library", library, "--save", file, "--",
			"env", "LD_LIBRARY_PATH="+runtime.Dir, "sh", "-c", `exec "$0" "$1" >/dev/null`, exe, arg)
		if status != 0 || errs != "" {
			t.Errorf("exit status %d, printed %q", status, errs)
		}
		status, out, errs := e2e.Output(t, "trace", "stats", file)
		if status != 0 || errs != "" || !strings.Contains(out, " %  task ") {
			t.Errorf("stats: exit status %d, printed %q and %q", status, out, errs)
		}
		return out
	}
	const tries, says = 10, "to record one: `ompd-inspect record --events default,-tasks` leaves them out"
	for range tries {
		out := stats("0")
		row := regexp.MustCompile(` %  task .* 400 +(\S+) `).FindStringSubmatch(out)
		if row == nil {
			t.Fatalf("no row of the tasks:\n%s", out)
		}
		total, err := time.ParseDuration(row[1])
		if err != nil {
			t.Fatal(err)
		}
		small := total < 400*time.Microsecond
		if strings.Contains(out, "\n400 tasks take ") != small || strings.Contains(out, says) != small {
			t.Errorf("what stats say of the cost to record small tasks:\n%s", out)
		}
		if small {
			break
		}
	}
	if out := stats("1"); strings.Contains(out, says) {
		t.Errorf("the healthy twin:\n%s", out)
	}
}

// TestRecordRuntime runs a program of GCC on LLVM's runtime, which reports its events itself, and requires a
// refusal if that runtime lacks a function.
func TestRecordRuntime(t *testing.T) {
	library, runtime := omptest.Recorder(t), filepath.Join(omptest.RuntimeOf(t, 19).Dir, "libomp.so.5")
	file := filepath.Join(t.TempDir(), "history.recording")
	exe := omptest.Compile(t, omptest.Build{Program: "history", Compiler: omptest.GCC})
	status, _, errs := e2e.Output(t, "record", "--library", library, "--save", file, "--runtime", runtime,
		"--", exe, "0")
	if status != 0 || errs != "" {
		t.Errorf("exit status %d, printed %q", status, errs)
	}
	status, out, errs := e2e.Output(t, "trace", "--events", "0", file)
	if status != 0 || errs != "" || strings.Count(out, "acquires lock debit ") != 2 ||
		!strings.Contains(out, "comes to the barrier at the end of the region") || strings.Contains(out, "gomp") ||
		!strings.Contains(out, "transfer history.c:23") {
		t.Errorf("trace: exit status %d, printed %.3000q and %q", status, out, errs)
	}
	for program, says := range map[string]string{
		exe:    "libompd-recorder.so lacks functions that " + exe + " calls: ",
		"true": "does not use GNU's runtime",
	} {
		status, out, errs := e2e.Output(t, "record", "--library", library, "--runtime", library, "--", program, "0")
		if status != cli.ExitOwn || out != "" || !strings.Contains(errs, says) {
			t.Errorf("%s: exit status %d, printed %q and %q", program, status, out, errs)
		}
	}
}

// checkCut truncates a file of record --save: the tool shows the remaining rings and names the others.
func checkCut(t *testing.T, file string) {
	t.Helper()
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	shown, threads := 0, regexp.MustCompile(`: (\d) threads?, `)
	for tenth := range 10 {
		if err := os.WriteFile(file, whole[:len(whole)*tenth/10], 0o600); err != nil {
			t.Fatal(err)
		}
		status, out, errs := e2e.Output(t, "trace", "--events", "1", file)
		switch m := threads.FindStringSubmatch(out); {
		case status == 1 && strings.Contains(errs, file):
		case status == 0 && m != nil && (m[1] == "4" || strings.Contains(out, "  ring ")):
			shown++
		default:
			t.Errorf("%d tenths: exit status %d, printed %q and %q", tenth, status, out, errs)
		}
	}
	if shown < 5 {
		t.Errorf("%d of 10 cut files show something", shown)
	}
}

// recorderHeader reads the recorder's header from a core.
func recorderHeader(t *testing.T, core, exe string) []byte {
	t.Helper()
	c, err := corefile.Open(core, corefile.Options{Exe: exe})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, m := range c.Mappings() {
		if strings.HasPrefix(m.File, recorderMapping) {
			b := make([]byte, 4096)
			if err := c.ReadMemory(m.Low, b); err != nil {
				t.Fatal(err)
			}
			return b
		}
	}
	t.Fatalf("no mapping of the recorder among %d", len(c.Mappings()))
	return nil
}

// TestRecordErrors requires errors before the program runs.
func TestRecordErrors(t *testing.T) {
	library := filepath.Join(t.TempDir(), "with space", "libompd-recorder.so")
	if err := os.MkdirAll(filepath.Dir(library), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(library, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		status int
		says   string
		args   []string
	}{
		{cli.ExitUsage, "which program?", nil},
		{cli.ExitUsage, `"lock" is neither one of default, all`, []string{"--events", "lock", "--", "true"}},
		{cli.ExitUsage, "at least 256 KB", []string{"--memory", "1K", "--", "true"}},
		{cli.ExitOwn, "--library or OMPD_RECORDER_LIBRARY names one",
			[]string{"--library", library + "x", "--", "true"}},
		{cli.ExitOwn, "accepts no path with a space", []string{"--library", library, "--", "true"}},
	} {
		status, out, errs := e2e.Output(t, append([]string{"record"}, c.args...)...)
		if status != c.status || out != "" || !strings.Contains(errs, c.says) {
			t.Errorf("record %v: exit status %d, printed %q and %q", c.args, status, out, errs)
		}
	}
}
