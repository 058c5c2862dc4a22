package gates_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// clocks are the functions of tests that use time, with the reason. A test that waits for a time, limits one, or
// measures and compares one, fails on a slow enough machine: it must wait for an event of a program or of the
// kernel. The exceptions are limits for endless waits, and tests of time itself.
var clocks = map[string]string{
	"gdb.script":                                              "a limit on a gdb that never ends",
	"internal/cli.TestElapsed":                                "the clock is a synctest's",
	"internal/cli.TestProgress":                               "the clock is a synctest's",
	"internal/front/dap.TestInitialized":                      "the clock is a synctest's",
	"internal/guard/budget.TestThreads":                       "no thread uses more CPU time than passes",
	"internal/stack/symbolize.TestDebuginfodSlow":             "the clock is a synctest's",
	"internal/testing/e2e.AwaitStopped":                       "a stopped process is watched as long as hangs take",
	"internal/testing/e2e.OutputInTime":                       "a limit on a report that never ends",
	"internal/testing/e2e/live.TestForkLoopUnderKilledLooks":  "kills at a random moment; every moment is right",
	"internal/testing/e2e/live.aloneRun.leftAlone":            "a healthy program outlives a hang",
	"internal/testing/e2e/live.endProfiles":                   "ends it at a random moment; every moment is right",
	"internal/testing/e2e/live.killLooks":                     "kills at a random moment; every moment is right",
	"internal/testing/e2e/live.lifetime":                      "how long the tool runs, to kill it",
	"internal/testing/e2e/live.startShell":                    "a limit on a session that never ends",
	"internal/testing/e2e/live.stepper.round":                 "others run for a while; every moment is right",
	"internal/testing/e2e/live.stepper.step":                  "the poll for the end of a step; it may end later",
	"internal/testing/e2e/server.TestStdioServerEndsWithPipe": "a limit on a server that never ends",
	"internal/testing/e2e/server.dying":                       "leaves at a random moment; every moment is right",
	"internal/testing/e2e/server.lying":                       "a bound on a client, which may be cut off",
	"internal/testing/e2e/server.sleep":                       "the soak holds targets for a while, and samples",
	"internal/testing/e2e/server.soaked.abused":               "the soak has a length; its figures are logged",
	"internal/testing/e2e/server.soaked.raw":                  "a bound on a client, which may be cut off",
	"internal/testing/e2e/server.soaked.withClient":           "a bound on a client, which may be cut off",
	"internal/testing/e2e/server.unread":                      "a bound on a client, which may be cut off",
	"internal/testing/e2e/server.watchedServer":               "a server tells now and then what it holds",
	"internal/testing/e2e/server.wrongTokens":                 "a bound on a client, which may be cut off",
	"internal/testing/e2e/verdicts.injectedBug.await":         "a limit on a program that does not hang",
	"internal/testing/generated.limited":                      "a limit on a look that never ends",
	"internal/testing/generated.run.follow":                   "random programs are looked at in random moments",
	"internal/testing/generated.run.standstill":               "a hang is watched before it is believed",
	"internal/testing/mutate.watched":                         "a limit on a mutant that never ends",
	"internal/testing/omptest.AwaitDump":                      "a limit on a process that never ends",
	"internal/testing/omptest.Process.AwaitLoop":              "the poll for the place of a thread",
	"internal/testing/omptest.Process.awaitCall":              "the poll for the place of a thread",
	"internal/testing/recordtest.settled":                     "the poll for the place of a thread",
	"internal/testing/recordtest.writers":                     "the soak reads each millisecond; nothing depends on it",
	"live.TestKilledTool":                                     "kills at a random moment; every moment is right",
	"server.TestDeadline":                                     "the call is to end by its own limit",
	"server.TestManyClients":                                  "the time is logged, and compared with nothing",
	"server.TestUnread":                                       "a limit on a call that never ends",
	"server.dialRaw":                                          "a limit on a server that never answers",
	"server.lastly":                                           "the poll for the end of a call",
	"server.stranger":                                         "a limit on a server that never answers",
}

// TestNoClocks finds uses of time in tests.
func TestNoClocks(t *testing.T) {
	used := map[string]bool{}
	for _, s := range sources(t) {
		if !s.test && !slices.Contains(harness, s.pkg) && s.pkg != "callbacks/callbackstest" &&
			s.pkg != "internal/testing/rtltest" {
			continue
		}
		for _, d := range s.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil || benchmark(s, f) {
				continue
			}
			where := s.pkg + "." + functionName(f)
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if c, ok := n.(*ast.CallExpr); ok && clock(callName(c)) {
					if used[where] = true; clocks[where] == "" {
						t.Errorf("%v: %s: a test that waits for a time, or compares one; use a handshake (see clocks)",
							s.fset.Position(c.Pos()), where)
					}
				}
				return true
			})
		}
	}
	for where := range clocks {
		if !used[where] {
			t.Errorf("%s has nothing to do with time: take it out of clocks", where)
		}
	}
}

// benchmark reports whether a function only measures.
func benchmark(s source, f *ast.FuncDecl) bool {
	return strings.HasPrefix(f.Name.Name, "Benchmark") || strings.HasSuffix(s.name, "bench_test.go")
}

// clock reports whether a call waits, bounds or measures time.
func clock(call string) bool {
	switch call {
	case "time.Sleep", "time.After", "time.AfterFunc", "time.NewTimer", "time.NewTicker", "time.Tick", "time.Since",
		"time.Until", "context.WithTimeout":
		return true
	}
	return strings.HasSuffix(call, "Deadline") // of contexts and connections
}

// functionName returns the name of a function, that of a method with its type.
func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	return receiverName(f) + "." + f.Name.Name
}
