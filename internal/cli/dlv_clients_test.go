package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// startHeld starts a Go program in a team of four under Delve, and a proxy for that Delve on a port, as front ends
// need it that know no unix sockets. It returns their addresses.
func startHeld(t *testing.T) (socket, address string) {
	t.Helper()
	omptest.Needs(t, "Delve")
	run := omptest.Run{Exe: omptest.CompileGo(t, omptest.GCC), Runtime: omptest.Libgomp(t), Mode: omptest.Live}
	socket = omptest.AttachDelve(t, omptest.Start(t, run), "--accept-multiclient")
	return socket, startDelveProxy(t, socket, "--listen", "127.0.0.1:0", "--insecure-tcp")
}

// delveCalls lists calls of Delve's service by its front ends, with the parameters of version 2. GoLand's calls
// are included as far as they are known, because its source is closed.
var delveCalls = []struct {
	method     string
	parameters object
}{
	{"SetApiVersion", object{"APIVersion": 2}}, {"GetVersion", object{}}, {"IsMulticlient", object{}},
	{"AttachedToExistingProcess", object{}}, {"ProcessPid", object{}}, {"ListTargets", object{}},
	{"State", object{"NonBlocking": true}}, {"ListBreakpoints", object{"All": true}},
	{"CreateBreakpoint", object{"Breakpoint": object{"name": "ours", "functionName": "main.goMember"}}},
	{"FindLocation", object{"Scope": object{"GoroutineID": -1}, "Loc": "main.solve"}},
	{"ListThreads", object{}}, {"ListGoroutines", object{"Start": 0, "Count": 100}},
	{"Stacktrace", object{"Id": -1, "Depth": 20}}, {"ListRegisters", object{"ThreadID": 0}},
	{"ListLocalVars", object{"Scope": object{"GoroutineID": 1}, "Cfg": object{"FollowPointers": true}}},
	{"ListFunctionArgs", object{"Scope": object{"GoroutineID": 1}, "Cfg": object{"FollowPointers": true}}},
	{"Eval", object{"Scope": object{"GoroutineID": 1}, "Expr": "1+2"}}, {"Eval", object{"Expr": "no such"}},
	{"ListSources", object{"Filter": "main"}}, {"ListFunctions", object{"Filter": `main\.`}},
	{"ListTypes", object{"Filter": "main"}}, {"ListPackageVars", object{"Filter": "main"}},
	{"ListDynamicLibraries", object{}}, {"Disassemble", object{"Scope": object{"GoroutineID": 1}}},
	{"ClearBreakpoint", object{"Name": "ours"}}, {"NoSuchMethod", object{}},
}

// callAll makes all calls on one connection, one after the other or at once, and returns the answers by their
// IDs.
func callAll(t *testing.T, network, address string, atOnce bool) map[int]map[string]any {
	t.Helper()
	c, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in := json.NewDecoder(bufio.NewReader(c))
	answers := map[int]map[string]any{}
	take := func() {
		var v map[string]any
		if err := in.Decode(&v); err != nil {
			t.Fatal(err)
		}
		answers[int(v["id"].(float64))] = v
	}
	for i, call := range delveCalls {
		text, _ := json.Marshal(object{
			"method": "RPCServer." + call.method, "params": []object{call.parameters}, "id": i,
		})
		if _, err := c.Write(text); err != nil {
			t.Fatal(err)
		}
		if !atOnce {
			take()
		}
	}
	for len(answers) < len(delveCalls) {
		take()
	}
	return answers
}

// TestDlvPasses makes the calls of front ends with and without the proxy. The answers are equal except for the
// additions to goroutines and threads, also for a client that does not wait between calls.
func TestDlvPasses(t *testing.T) {
	socket, address := startHeld(t)
	direct := callAll(t, "unix", socket, false)
	through := callAll(t, "tcp", address, false)
	labels, names := 0, 0
	for i, call := range delveCalls {
		labels += plainGoroutines(through[i])
		names += plainThreads(through[i])
		plainGoroutines(direct[i])
		if got, want := sortedAnswer(through[i]), sortedAnswer(direct[i]); got != want {
			t.Errorf("%s is answered by\n%s\nwithout the proxy\n%s", call.method, got, want)
		}
	}
	if labels < 2 || names < 4 {
		t.Errorf("%d goroutines have labels, %d threads have names", labels, names)
	}
	if n := len(callAll(t, "tcp", address, true)); n != len(delveCalls) {
		t.Errorf("%d answers to %d calls", n, len(delveCalls))
	}
}

// listIn returns a list in an answer.
func listIn(answer map[string]any, name string) []any {
	result, _ := answer["result"].(map[string]any)
	list, _ := result[name].([]any)
	return list
}

// plainGoroutines removes the added labels, and counts the goroutines with labels.
func plainGoroutines(answer map[string]any) (labelled int) {
	for _, g := range listIn(answer, "Goroutines") {
		g := g.(map[string]any)
		labels, _ := g["labels"].(map[string]any)
		if labels["omp.state"] != nil {
			labelled++
		}
		for name := range labels {
			if strings.HasPrefix(name, "omp") {
				delete(labels, name)
			}
		}
		if len(labels) == 0 {
			delete(g, "labels")
		}
	}
	return labelled
}

// plainThreads removes the added names, and counts them.
func plainThreads(answer map[string]any) (named int) {
	for _, th := range listIn(answer, "Threads") {
		function, _ := th.(map[string]any)["function"].(map[string]any)
		name, _ := function["name"].(string)
		if plain, _, ok := strings.Cut(name, " [OMP "); ok {
			named++
			function["name"] = plain
		}
	}
	return named
}

// sortedAnswer returns an answer with its lists of threads and breakpoints sorted, because Delve returns them
// in any order, and without the numbers of breakpoints, which are consecutive.
func sortedAnswer(answer map[string]any) string {
	result, _ := answer["result"].(map[string]any)
	if b, ok := result["Breakpoint"].(map[string]any); ok {
		delete(b, "id")
	}
	state, _ := result["State"].(map[string]any)
	for _, o := range []map[string]any{result, state} {
		for _, name := range []string{"Threads", "Breakpoints"} {
			list, _ := o[name].([]any)
			slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
	}
	return fmt.Sprint(answer)
}

// vimScript connects with vim-go, lets the program run and halts it, and writes the content of the windows.
const vimScript = `
set nocompatible nomore
exe 'set runtimepath^=' . $VIM_GO
let g:go_gopls_enabled = 0
let g:go_version_warning = 0
filetype plugin on
runtime plugin/go.vim
let s:said = []
func! Say(kind, text) abort
  call add(s:said, a:kind . ' ' . a:text)
  call writefile(s:said, $SAID)
endfunc
func! Wait(window) abort
  while len(getbufline(a:window, 1, '$')) < 3
    sleep 50m
  endwhile
  return getbufline(a:window, 1, '$')
endfunc
exe 'edit ' . $SOURCE
call go#debug#Start('connect', $ADDRESS)
call go#debug#Stack('continue')
call go#debug#Stack('halt')
for line in Wait('__GODEBUG_GOROUTINES__')
  call Say('GOROUTINE', line)
endfor
for line in Wait('__GODEBUG_STACKTRACE__')
  call Say('STACK', line)
endfor
redir => g:printed
silent! call go#debug#Print('omp regions')
redir END
call Say('PRINTED', g:printed)
qa!
`

// TestVimGo debugs a Go program in Vim with vim-go through the proxy for Delve.
func TestVimGo(t *testing.T) {
	plugin := omptest.Option("vim-go")
	if plugin == "" {
		t.Skip("no vim-go: go run ./internal/testing/campaign editors -vim-go DIR")
	}
	_, address := startHeld(t)
	dir := t.TempDir()
	script, said := filepath.Join(dir, "script.vim"), filepath.Join(dir, "said")
	source, err1 := filepath.Abs("../../testdata/programs/cgo/main.go")
	err2 := os.WriteFile(script, []byte(vimScript), 0o600)
	err3 := os.Symlink(omptest.Delve(t), filepath.Join(dir, "dlv")) // vim-go requires a dlv in the path
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "vim", "-u", "NONE", "-i", "NONE", "-n", "-N", "-es", "-S", script)
	cmd.Env = append(os.Environ(), "VIM_GO="+plugin, "SOURCE="+source, "ADDRESS="+address, "SAID="+said, "HOME="+dir,
		"PATH="+dir+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	text, _ := os.ReadFile(said)
	for _, want := range []string{"GOROUTINE * Goroutine ", "main.goMember", "STACK ", "REGIONS  1 parallel region"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%v: Vim shows no %q:\n%s%s", err, want, text, out)
		}
	}
}
