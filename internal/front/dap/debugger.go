package dap

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Debugger describes the adapter of a known debugger.
type Debugger struct {
	Name string
	// console is the prefix of the debugger's commands in its console.
	console string
	// registers is a command that prints the registers of all threads: see parseRegisters.
	registers string
	// report is a command that prints the picture as JSON. It is set for a debugger that lends its program to
	// ompd-inspect.
	report string
	// ownVerbs reports whether the debugger's console has the omp commands itself.
	ownVerbs bool
	// threads matches the LWP in the name of a thread; nil if the numbers of threads are LWPs, or registers
	// prints them.
	threads *regexp.Regexp
	// missing reports whether the debugger lists only the threads of its own language.
	missing bool
}

// gdbRegisters prints registers in gdb of any version. It restores the selected thread and frame.
const gdbRegisters = `python exec("""import gdb
_t, _f = gdb.selected_thread(), None
try:
    _f = gdb.selected_frame()
except gdb.error:
    pass
for _x in gdb.selected_inferior().threads():
    _x.switch()
    _r = []
    for _n in ("rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip fs_base"
               if "86-64" in gdb.newest_frame().architecture().name() else
               " ".join("x%d" % _i for _i in range(31)) + " sp pc tpidr").split():
        try:
            _r.append("%s=%#x" % (_n, int(gdb.newest_frame().read_register(_n)) & (1 << 64) - 1))
        except (gdb.error, ValueError):
            pass
    print("omp-registers", _x.global_num, _x.ptid[1] or _x.ptid[2], *_r)
if _t is not None:
    _t.switch()
if _f is not None and _f.is_valid():
    _f.select()
""")`

// lldbRegisters prints registers in lldb with Python.
const lldbRegisters = `script print("\n".join("omp-registers %d %d " % (t.id, t.id) + ` +
	`" ".join("%s=%s" % (r.name, r.value) for r in t.GetFrameAtIndex(0).registers[0]) for t in lldb.process))`

// oneLine returns a script as one command.
func oneLine(script string) string {
	const quotes = `"""`
	before, rest, _ := strings.Cut(script, quotes)
	inner, after, _ := strings.Cut(rest, quotes)
	return before + strconv.Quote(inner) + after
}

// debuggers returns the known debuggers by the program name of their adapter.
func debuggers() map[string]Debugger {
	gdb := Debugger{Name: "gdb", registers: oneLine(gdbRegisters), report: "omp report --json", ownVerbs: true}
	cppdbg := gdb
	cppdbg.Name, cppdbg.console, cppdbg.report, cppdbg.ownVerbs = "cppdbg", "-exec ", "", false
	lldb := Debugger{Name: "lldb", console: "`", registers: lldbRegisters}
	delve := Debugger{Name: "delve", threads: regexp.MustCompile(`\(Thread (\d+)\)`), missing: true}
	return map[string]Debugger{
		"gdb": gdb, "OpenDebugAD7": cppdbg, "lldb-dap": lldb, "lldb-vscode": lldb, "dlv": delve,
	}
}

// DebuggerOf returns the debugger of the adapter that a command line starts. It knows gdb, LLVM's adapter,
// Delve and that of the C++ extension. Other adapters must use LWPs as the numbers of threads.
func DebuggerOf(argv []string) Debugger {
	if len(argv) == 0 {
		return Debugger{}
	}
	name := filepath.Base(argv[0])
	known := debuggers()
	if d, ok := known[name]; ok {
		return d
	}
	if slices.Contains(argv, "dap") && strings.Contains(strings.Join(argv, " "), "-i dap") {
		return known["gdb"] // by another name, or through a script
	}
	for program, d := range known {
		if rest, ok := strings.CutPrefix(name, program); ok && strings.HasPrefix(rest, "-") {
			return d // lldb-dap-19
		}
	}
	return Debugger{Name: name}
}

// Delve returns the description of a headless Delve.
func Delve() Debugger { return debuggers()["dlv"] }

// maxThreads bounds the threads in a debugger's output of registers: the kernel has no more thread IDs.
const maxThreads = 4 << 20

// parseRegisters parses a debugger's output of registers: lines "omp-registers ID LWP NAME=VALUE…", where ID is
// the debugger's number of the thread.
func parseRegisters(text string) (registers map[int]map[string]uint64, lwps map[int]int) {
	registers, lwps = map[int]map[string]uint64{}, map[int]int{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		const fixed = 3
		if len(words) < fixed || words[0] != "omp-registers" || len(lwps) == maxThreads {
			continue
		}
		id, err1 := strconv.Atoi(words[1])
		lwp, err2 := strconv.Atoi(words[2])
		if err1 != nil || err2 != nil {
			continue
		}
		values := map[string]uint64{}
		for _, w := range words[fixed:] {
			name, value, _ := strings.Cut(w, "=")
			if v, err := strconv.ParseUint(value, 0, 64); err == nil {
				values[name] = v
			}
		}
		registers[lwp], lwps[id] = values, lwp
	}
	return registers, lwps
}

// corePath returns the core in the arguments of launch or attach; "" without one.
func corePath(arguments json.RawMessage) string {
	var a struct {
		CoreFile     string `json:"coreFile"`     // gdb, lldb-dap
		CoreFilePath string `json:"coreFilePath"` // Delve
		CoreDumpPath string `json:"coreDumpPath"` // cppdbg
	}
	_ = json.Unmarshal(arguments, &a)
	for _, name := range []string{a.CoreFile, a.CoreFilePath, a.CoreDumpPath} {
		if name != "" {
			return name
		}
	}
	return ""
}

// processID returns the process in the arguments of attach; 0 without one.
func processID(arguments json.RawMessage) int {
	var a struct {
		PID       Name `json:"pid"`       // gdb, lldb-dap
		ProcessID Name `json:"processId"` // Delve, cppdbg
	}
	_ = json.Unmarshal(arguments, &a)
	for _, name := range []Name{a.PID, a.ProcessID} {
		if n, err := strconv.Atoi(string(name)); err == nil && n > 0 {
			return n
		}
	}
	return 0
}

// consoleCommand returns the arguments of a request that runs a command in the debugger's console.
func (d Debugger) consoleCommand(command string) map[string]any {
	return map[string]any{"expression": d.console + command, "context": "repl"}
}

// errNoResult returns the error for an unexpected answer to a command of the debugger.
func errNoResult(what string, text string) error {
	const most = 200
	if len(text) > most {
		text = text[:most] + "…"
	}
	return fmt.Errorf("the debugger's %s: %q", what, text)
}
