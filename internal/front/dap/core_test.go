package dap_test

import (
	"encoding/base64"
	"path/filepath"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestCores inspects hanging programs of both runtimes as an editor does.
func TestCores(t *testing.T) {
	for _, want := range []struct {
		core, first, second string
		label               string
		name                string // of the innermost function of the first thread
		line                int
		holds               string
	}{
		{
			core: "llvm-deadlock", first: "OMP 0/3 lock_cycle.c:13 · wait_lock second SIGABRT",
			second: "OMP 1/3 lock_cycle.c:22 · wait_lock first", label: "forked by thread 0 (LWP 5607)",
			name: "deposit", line: 13, holds: "first (certain) acquired in deposit /src/lock_cycle.c:9",
		},
		{
			core: "gnu-deadlock", first: "OMP 0/2 verdict_critical_cycle.c:18 · wait_critical audit SIGABRT",
			second: "OMP 1/2 verdict_critical_cycle.c:29 · wait_critical ledger",
			label:  "forked by thread 0 (LWP 5945)",
			name:   "book", line: 18, holds: "ledger (certain) acquired in book /src/verdict_critical_cycle.c:13",
		},
	} {
		t.Run(want.core, func(t *testing.T) {
			c, stop := attach(t, golden(t, want.core))
			omptest.Equal(t, "reason", stop.Reason, "exception")
			omptest.Equal(t, "description", stop.Description, "DEADLOCK")
			omptest.Equal(t, "text", stop.Text, "DEADLOCK: threads 0 and 1")
			list := threads(c)
			omptest.Equal(t, "first thread", list[0].Name, want.first)
			omptest.Equal(t, "second thread", list[1].Name, want.second)
			omptest.Equal(t, "thread of the stop", stop.ThreadId, list[0].Id)
			frames := stack(c, list[0].Id)
			omptest.Equal(t, "kind of the pseudo frame", frames[0].PresentationHint, "subtle")
			omptest.Equal(t, "function", frames[1].Name, want.name)
			omptest.Equal(t, "line", frames[1].Line, want.line)
			forked := stack(c, list[1].Id)
			at := len(forked) - 2
			omptest.Equal(t, "label", forked[at].Name, want.label)
			omptest.Equal(t, "its hint", forked[at].PresentationHint, "label")
			omptest.Equal(t, "outermost function", forked[at+1].Name, "main")
			omptest.Equal(t, "thread_num", scope(t, c, frames[1].Id, "OpenMP thread")["thread_num"].Value, "0")
			omptest.Equal(t, "level", scope(t, c, frames[1].Id, "Region")["level"].Value, "1")
			omptest.Equal(t, "kind of the task", scope(t, c, frames[1].Id, "Task")["kind"].Value, "implicit")
			omptest.Equal(t, "an ICV", scope(t, c, frames[1].Id, "ICVs")["dyn-var"].Value, "false")
			omptest.Equal(t, "what it holds", scope(t, c, frames[1].Id, "Locks")["holds"].Value, want.holds)
		})
	}
}

// TestVerdictShown checks that the verdict is printed before the stop, and that its evidence is available.
func TestVerdictShown(t *testing.T) {
	c, stop := attach(t, golden(t, "llvm-deadlock"))
	told := ""
	for _, m := range c.All() {
		if m.Event == "output" {
			if body := daptest.BodyOf[godap.OutputEventBody](c, m); body.Category == "important" {
				told = body.Output
			}
		}
	}
	if !strings.HasPrefix(told, "DEADLOCK  2 threads wait for each other") || !strings.Contains(told, "\nfix: ") {
		t.Errorf("the output is %q", told)
	}
	info := daptest.Ask[godap.ExceptionInfoResponseBody](c, "exceptionInfo", args{"threadId": stop.ThreadId})
	omptest.Equal(t, "ID", info.ExceptionId, "deadlock")
	omptest.Equal(t, "break mode", string(info.BreakMode), "always")
	if !strings.Contains(info.Details.StackTrace, "thread 0 waits for lock second, held by thread 1: acquired") ||
		strings.Count(info.Details.StackTrace, "\n") != 1 {
		t.Errorf("the evidence is %q", info.Details.StackTrace)
	}
	if !strings.Contains(info.Description, "\nfix: acquire these locks in the same order") {
		t.Errorf("the description is %q", info.Description)
	}
}

// TestHealthy checks that a program without a hang has no reason to stop other than the request.
func TestHealthy(t *testing.T) {
	c, stop := attach(t, golden(t, "llvm-healthy"))
	if stop.Text != "" && !strings.HasPrefix(stop.Text, "SIG") {
		t.Errorf("a healthy program stops with %q", stop.Text)
	}
	for _, m := range c.All() {
		if strings.Contains(string(m.Body), "DEADLOCK") {
			t.Errorf("%s", m.Body)
		}
	}
}

// TestPages requests a stack in parts and at once, and compares them.
func TestPages(t *testing.T) {
	c, _ := attach(t, golden(t, "llvm-deadlock"))
	id := threads(c)[1].Id
	whole := stack(c, id)
	for i := range whole {
		page := frames(c, args{"threadId": id, "startFrame": i, "levels": 1})
		if len(page.StackFrames) != 1 || page.StackFrames[0].Id != whole[i].Id || page.TotalFrames != len(whole) {
			t.Errorf("frame %d is %+v, want %+v", i, page, whole[i])
		}
	}
	past := frames(c, args{"threadId": id, "startFrame": 1000, "levels": 5})
	omptest.Equal(t, "frames past the last", len(past.StackFrames), 0)
}

// TestNested checks the names of threads in nested regions: their numbers at each level, in the order of
// regions. The stacks name the threads that forked the regions.
func TestNested(t *testing.T) {
	c, _ := attach(t, golden(t, "llvm-nested"))
	var names []string
	labels := map[string]bool{}
	for _, th := range threads(c) {
		names = append(names, th.Name)
		for _, f := range stack(c, th.Id) {
			if f.PresentationHint == "label" {
				labels[f.Name] = true
			}
		}
	}
	for i, prefix := range []string{"OMP 0/2 > 0/3 ", "OMP 0/2 > 1/3 ", "OMP 0/2 > 2/3 ", "OMP 1/2 > 0/3 "} {
		if i >= len(names) || !strings.HasPrefix(names[i], prefix) {
			t.Errorf("thread %d of %q does not begin with %q", i, names, prefix)
		}
	}
	if !labels["forked by thread 1 (LWP 5500)"] || !labels["forked by thread 0 (LWP 5499)"] {
		t.Errorf("labels %v", labels)
	}
}

// TestRuntimeFrames shows the frames of the runtime on request.
func TestRuntimeFrames(t *testing.T) {
	how := golden(t, "llvm-deadlock")
	how["runtimeFrames"] = true
	c, stop := attach(t, how)
	subtle, user := 0, 0
	for _, f := range stack(c, stop.ThreadId) {
		switch {
		case f.ModuleId == "libomp.so.5" && f.PresentationHint == "subtle":
			subtle++
		case f.PresentationHint == "":
			user++
		}
	}
	if subtle < 2 || user < 3 {
		t.Errorf("%d frames of the runtime, %d of the program", subtle, user)
	}
}

// TestSources maps paths of the machine on which the program was built.
func TestSources(t *testing.T) {
	dir, err := filepath.Abs("../../../testdata/programs")
	if err != nil {
		t.Fatal(err)
	}
	how := golden(t, "llvm-deadlock")
	how["sourceMap"] = map[string]string{"/src": dir, "/sr": "/nowhere"}
	c, stop := attach(t, how)
	s := stack(c, stop.ThreadId)[1].Source
	omptest.Equal(t, "path", s.Path, filepath.Join(dir, "lock_cycle.c"))
	omptest.Equal(t, "origin", s.Origin, "")
	plain, stop := attach(t, golden(t, "llvm-deadlock"))
	s = stack(plain, stop.ThreadId)[1].Source
	omptest.Equal(t, "path without a map", s.Path, "/src/lock_cycle.c")
	omptest.Equal(t, "its hint", s.PresentationHint, "deemphasize")
	names := map[string]bool{}
	for _, s := range daptest.Ask[godap.LoadedSourcesResponseBody](c, "loadedSources", nil).Sources {
		names[s.Name] = true
	}
	if !names["lock_cycle.c"] || !names["truth.h"] {
		t.Errorf("loaded sources %v", names)
	}
}

// TestConsole evaluates expressions in the console.
func TestConsole(t *testing.T) {
	c, _ := attach(t, golden(t, "llvm-deadlock"))
	frames := stack(c, threads(c)[1].Id)
	evaluate := func(expression string, frame int) string {
		a := args{"expression": expression, "frameId": frame, "context": "repl"}
		return daptest.Ask[godap.EvaluateResponseBody](c, "evaluate", a).Result
	}
	omptest.Equal(t, "a verb", evaluate("omp regions --all", 0), "verb regions --all")
	omptest.Equal(t, "without a verb", evaluate("omp", 0), "verb report")
	omptest.Equal(t, "of the frame's thread", evaluate("$omp.thread_num", frames[1].Id), "1")
	omptest.Equal(t, "of the first thread", evaluate("$omp.thread_num", 0), "0")
	omptest.Equal(t, "nothing", evaluate("  ", 0), "")
	if help := evaluate("omp help", 0); !strings.Contains(help, "regions, report") {
		t.Errorf("the help is %q", help)
	}
	levels := daptest.Ask[godap.EvaluateResponseBody](c, "evaluate", args{"expression": "$omp.levels"})
	second := parts(c, levels.VariablesReference)["[1]"]
	omptest.Equal(t, "an element", parts(c, second.VariablesReference)["team_size"].Value, "3")
	for expression, text := range map[string]string{
		"omp swim": "it must be one of regions, report", "$omp.nothing": "the thread has no $omp.nothing",
		"1 + 1": "`omp help`",
	} {
		if got := c.Refused("evaluate", args{"expression": expression}); !strings.Contains(got, text) {
			t.Errorf("%s: %q, want %q", expression, got, text)
		}
	}
	complete := func(text string) (labels []string) {
		a := args{"text": text, "column": len(text) + 1, "frameId": frames[1].Id}
		for _, item := range daptest.Ask[godap.CompletionsResponseBody](c, "completions", a).Targets {
			labels = append(labels, item.Label)
		}
		return labels
	}
	omptest.Equal(t, "verbs", strings.Join(complete("omp re"), " "), "regions report")
	omptest.Equal(t, "names", strings.Join(complete("$omp.wait_"), " "), "$omp.wait_id $omp.wait_kind $omp.wait_name")
	omptest.Equal(t, "the command", strings.Join(complete("o"), " "), "omp")
}

// TestMemory reads and disassembles code at a frame, and at addresses that cannot be read.
func TestMemory(t *testing.T) {
	c, stop := attach(t, golden(t, "llvm-deadlock"))
	pc := stack(c, stop.ThreadId)[1].InstructionPointerReference
	call := args{"memoryReference": pc, "offset": -5, "count": 8}
	memory := daptest.Ask[godap.ReadMemoryResponseBody](c, "readMemory", call)
	data, err := base64.StdEncoding.DecodeString(memory.Data)
	if err != nil || len(data) != 8 || data[0] != 0xe8 {
		t.Errorf("before the return address %v is % x, %v; want a call", pc, data, err)
	}
	none := daptest.Ask[godap.ReadMemoryResponseBody](c, "readMemory", args{"memoryReference": "0x10", "count": 16})
	omptest.Equal(t, "unreadable bytes", none.UnreadableBytes, 16)
	code := daptest.Ask[godap.DisassembleResponseBody](c, "disassemble", args{
		"memoryReference": pc, "instructionOffset": -3, "instructionCount": 6,
	}).Instructions
	omptest.Equal(t, "instructions", len(code), 6)
	omptest.Equal(t, "address", code[3].Address, pc)
	if !strings.HasPrefix(code[2].Instruction, "call") || code[2].InstructionBytes[:2] != "e8" {
		t.Errorf("before the return address: %+v", code)
	}
	dark := daptest.Ask[godap.DisassembleResponseBody](c, "disassemble", args{
		"memoryReference": "0x10", "instructionOffset": -2, "instructionCount": 4,
	}).Instructions
	omptest.Equal(t, "instructions where there are none", len(dark), 4)
	text := c.Refused("readMemory", args{"memoryReference": pc, "count": 1 << 30})
	if !strings.Contains(text, "1048576") {
		t.Errorf("a gigabyte: %q", text)
	}
	text = c.Refused("readMemory", args{"memoryReference": "main", "count": 1})
	if !strings.Contains(text, "not an address") {
		t.Errorf("a name: %q", text)
	}
}

// TestModules lists modules by the names that frames use.
func TestModules(t *testing.T) {
	c, stop := attach(t, golden(t, "llvm-deadlock"))
	frame := stack(c, stop.ThreadId)[1]
	all := daptest.Ask[godap.ModulesResponseBody](c, "modules", nil)
	found := map[any]godap.Module{}
	for _, m := range all.Modules {
		found[m.Id] = m
	}
	if m := found[frame.ModuleId]; !m.IsUserCode || m.AddressRange == "" {
		t.Errorf("the frame's module %v is %+v of %v", frame.ModuleId, m, found)
	}
	if m := found["libomp.so.5"]; !strings.HasPrefix(m.Version, "LLVM OpenMP runtime") {
		t.Errorf("the runtime is %+v", m)
	}
	page := daptest.Ask[godap.ModulesResponseBody](c, "modules", args{"startModule": 1, "moduleCount": 1})
	if len(page.Modules) != 1 || page.Modules[0].Id != all.Modules[1].Id || page.TotalModules != len(all.Modules) {
		t.Errorf("the second module is %+v of %+v", page, all)
	}
}
