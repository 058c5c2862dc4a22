package dap_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// deadlocks returns runs of a deadlock on both runtimes.
func deadlocks(t *testing.T) map[string]omptest.Run {
	return map[string]omptest.Run{
		"libomp": {
			Exe:     omptest.Compile(t, omptest.Build{Program: "lock_cycle"}),
			Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live,
		},
		"libgomp": {
			Exe:     omptest.Compile(t, omptest.Build{Program: "lock_cycle", Compiler: omptest.GCC}),
			Runtime: omptest.Libgomp(t), Mode: omptest.Live,
		},
	}
}

// isTraced reports whether a thread of this process traces a process.
func isTraced(t *testing.T, p *omptest.Process) bool {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "TracerPid:\t")
	tracer, _, _ := strings.Cut(rest, "\n")
	_, err = os.Stat("/proc/self/task/" + tracer)
	return err == nil
}

// TestProcess inspects processes as an editor does: a snapshot leaves them running, pause stops them, continue
// resumes them, and numbers of an earlier snapshot are refused.
func TestProcess(t *testing.T) {
	omptest.Needs(t, "a compiler")
	for name, run := range deadlocks(t) {
		t.Run(name, func(t *testing.T) {
			p := omptest.Start(t, run)
			c, ended := serve(t, config())
			daptest.Ask[any](c, "initialize", args{"adapterID": "ompd", "supportsInvalidatedEvent": true})
			daptest.Ask[any](c, "configurationDone", nil)
			daptest.Ask[any](c, "attach", args{"target": p.PID, "hold": false})
			stop := daptest.BodyOf[godap.StoppedEventBody](c, c.Event("stopped"))
			omptest.Equal(t, "the stop", stop.Text, "DEADLOCK: threads 0 and 1")
			omptest.Equal(t, "held after the look", isTraced(t, p), false)
			old := stack(c, stop.ThreadId)[1]

			daptest.Ask[any](c, "pause", args{"threadId": 0})
			c.Event("invalidated")
			changed := daptest.BodyOf[map[string]any](c, c.Event("ompd/changed"))
			omptest.Equal(t, "looks", fmt.Sprint(changed["look"]), "2")
			omptest.Equal(t, "held", fmt.Sprint(changed["held"]), "true")
			again := daptest.BodyOf[godap.StoppedEventBody](c, c.Event("stopped"))
			omptest.Equal(t, "the second stop", again.Text, stop.Text)
			omptest.Equal(t, "held after pause", isTraced(t, p), true)
			if text := c.Refused("scopes", args{"frameId": old.Id}); !strings.Contains(text, "earlier snapshot") {
				t.Errorf("a frame of the first look: %q", text)
			}
			frame := stack(c, again.ThreadId)[1]
			omptest.Equal(t, "the frame", frame.Name, old.Name)
			memory := daptest.Ask[godap.ReadMemoryResponseBody](c, "readMemory", args{
				"memoryReference": frame.InstructionPointerReference, "count": 4,
			})
			omptest.Equal(t, "unreadable bytes", memory.UnreadableBytes, 0)

			daptest.Ask[any](c, "continue", args{"threadId": 0})
			omptest.Equal(t, "held after continue", isTraced(t, p), false)
			daptest.Ask[any](c, "pause", args{"threadId": 0})
			c.Event("stopped")
			c.CloseWrite() // the client disconnects
			if err := <-ended; err != nil {
				t.Errorf("the session ends with %v", err)
			}
			omptest.Equal(t, "held when the client is gone", isTraced(t, p), false)
		})
	}
}

// TestProcessEnds kills a process: the session ends at once, with one event, and a signal to the adapter is no error
// then.
func TestProcessEnds(t *testing.T) {
	omptest.Needs(t, "a compiler")
	for _, hold := range []bool{false, true} {
		t.Run(fmt.Sprint("held ", hold), func(t *testing.T) {
			p := omptest.Start(t, deadlocks(t)["libomp"])
			ctx, interrupt := context.WithCancel(t.Context())
			c, ended := serveUntil(ctx, t, config())
			daptest.Ask[any](c, "initialize", args{"adapterID": "ompd"})
			daptest.Ask[any](c, "configurationDone", nil)
			daptest.Ask[any](c, "attach", args{"target": fmt.Sprint(p.PID), "hold": hold})
			c.Event("stopped")
			p.Stop()
			c.Event("terminated")
			if text := c.Refused("pause", args{"threadId": 0}); !strings.Contains(text, "ended") {
				t.Errorf("a process that is gone: %q", text)
			}
			daptest.Ask[any](c, "setBreakpoints", args{"source": args{"path": "x"}}) // all earlier messages are there
			n := 0
			for _, m := range c.All() {
				if m.Event == "terminated" {
					n++
				}
			}
			omptest.Equal(t, "events of the end", n, 1)
			interrupt()
			omptest.Equal(t, "the end of the adapter", <-ended, nil)
		})
	}
}

// TestHold attaches to a process that hangs, and to one that does not: only the first one is held without being asked
// for, and what is held has variables at once.
func TestHold(t *testing.T) {
	omptest.Needs(t, "a compiler")
	healthy := omptest.Run{Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live,
		Exe: omptest.Compile(t, omptest.Build{Program: "values", Flags: []string{"-O0", "-g"}})}
	for _, test := range []struct {
		name        string
		run         omptest.Run
		hold        any
		held        bool
		description string // editors show it beside the thread's name
	}{
		{"a hang", deadlocks(t)["libomp"], nil, true, "DEADLOCK"},
		{"a hang, not held", deadlocks(t)["libomp"], false, false, "DEADLOCK"},
		{"no hang", healthy, nil, false, "Paused"}, {"no hang, held", healthy, true, true, "Paused"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := omptest.Start(t, test.run)
			which := args{"target": p.PID}
			if test.hold != nil {
				which["hold"] = test.hold
			}
			c, stop := attach(t, which)
			omptest.Equal(t, "held", isTraced(t, p), test.held)
			omptest.Equal(t, "description", stop.Description, test.description)
			locals := func(id int) bool {
				for _, f := range stack(c, id) {
					for _, s := range daptest.Ask[godap.ScopesResponseBody](c, "scopes", args{"frameId": f.Id}).Scopes {
						if s.Name == "Locals" {
							_, missing := parts(c, s.VariablesReference)["not shown"]
							return !missing
						}
					}
				}
				return false
			}
			omptest.Equal(t, "locals", locals(stop.ThreadId), test.held)
			changed := daptest.Ask[map[string]any](c, "ompd/look", args{"hold": true})
			omptest.Equal(t, "held after a look that holds", fmt.Sprint(changed["held"]), "true")
			omptest.Equal(t, "its locals", locals(stop.ThreadId), true)
			daptest.Ask[any](c, "continue", args{"threadId": 0})
			omptest.Equal(t, "held after continue", isTraced(t, p), false)
		})
	}
}

// TestCoreStands refuses to continue a core; pause shows it again, and its frames stay valid.
func TestCoreStands(t *testing.T) {
	c, _ := attach(t, golden(t, "llvm-deadlock"))
	if text := c.Refused("continue", args{"threadId": 0}); !strings.Contains(text, "a core stands still") {
		t.Errorf("continue: %q", text)
	}
	which := args{"threadId": threads(c)[0].Id}
	frame := daptest.Ask[godap.StackTraceResponseBody](c, "stackTrace", which).StackFrames[0]
	daptest.Ask[any](c, "pause", args{"threadId": 0})
	c.Event("stopped")
	if list := daptest.Ask[godap.ScopesResponseBody](c, "scopes", args{"frameId": frame.Id}).Scopes; len(list) == 0 {
		t.Error("a frame of the core has no scopes after pause")
	}
}

// TestCustom sends requests that the protocol does not define.
func TestCustom(t *testing.T) {
	c, _ := attach(t, golden(t, "llvm-deadlock"))
	pic := daptest.Ask[picture.Picture](c, "ompd/picture", nil)
	omptest.Equal(t, "schema", pic.Schema, picture.Schema)
	omptest.Equal(t, "verdict", string(pic.Verdicts[0].Kind), "deadlock")
	regions := daptest.Ask[struct {
		Regions []struct {
			Level   int `json:"level"`
			Members []struct {
				ThreadID int    `json:"threadId"`
				Name     string `json:"name"`
			} `json:"members"`
		} `json:"regions"`
	}](c, "ompd/regions", nil).Regions
	omptest.Equal(t, "regions", len(regions), 2)
	omptest.Equal(t, "members", len(regions[1].Members), 3)
	omptest.Equal(t, "the second member", regions[1].Members[1].Name, threads(c)[1].Name)

	graph := daptest.Ask[struct {
		Nodes  []struct{ ID, Kind, Name string }
		Edges  []struct{ From, To, Kind, Certainty string }
		Cycles [][]string
	}](c, "ompd/waitGraph", nil)
	b, _ := json.Marshal(graph.Cycles)
	omptest.Equal(t, "cycles", string(b), `[["thread:5607","thread:5608"]]`)
	holds := map[string]string{}
	named := map[string]string{}
	for _, n := range graph.Nodes {
		named[n.ID] = n.Name
	}
	for _, e := range graph.Edges {
		holds[named[e.From]+" "+e.Kind] = e.To
	}
	omptest.Equal(t, "who holds the first lock", holds["first held by"], "thread:5607")
	omptest.Equal(t, "who holds the second lock", holds["second held by"], "thread:5608")

	changed := daptest.Ask[map[string]any](c, "ompd/look", nil)
	omptest.Equal(t, "looks", fmt.Sprint(changed["look"]), "2")
	omptest.Equal(t, "verdicts", fmt.Sprint(changed["verdicts"]), "[deadlock]")
}

// TestStandardLibraryFrames looks at threads that wait in headers of the C++ standard library: these frames are subtle,
// and the names of the threads have the program's lines.
func TestStandardLibraryFrames(t *testing.T) {
	omptest.Needs(t, "a compiler")
	p := omptest.Start(t, omptest.Run{
		Exe:     omptest.Compile(t, omptest.Build{Program: "deadlock_beside", Flags: []string{"-O0", "-g"}}),
		Runtime: omptest.RuntimeOf(t, 16), Args: []string{"0"}, Mode: omptest.Live,
	})
	c, _ := attach(t, args{"target": p.PID})
	waits := 0
	for _, th := range threads(c) {
		own, library := "", 0 // the first frame that an editor shows, and the library's frames before it
		for _, f := range stack(c, th.Id) {
			if f.PresentationHint == "" {
				own = fmt.Sprintf("%s:%d", f.Source.Name, f.Line)
				break
			}
			if f.Source != nil && strings.Contains(f.Source.Path, "/c++/") {
				library++
			}
		}
		if library == 0 || !strings.HasPrefix(th.Name, "OMP ") {
			continue
		}
		waits++
		if !strings.HasPrefix(own, "deadlock_beside.cc:") || !strings.Contains(th.Name, own) {
			t.Errorf("thread %q begins with %s after %d frames of the library", th.Name, own, library)
		}
	}
	omptest.Equal(t, "threads that wait in the library", waits, 2)
}
