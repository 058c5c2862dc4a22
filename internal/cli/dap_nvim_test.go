package cli

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// nvimScript attaches, waits for the stop, and prints the threads, the stack, the console's output for a verb,
// and a request beyond the protocol. A configuration of type ompd is the first one of docs/guide/dap.md, with
// CONFIGURATION's values. A question to the user is an error, because no user is there to answer.
const nvimScript = `
vim.opt.runtimepath:prepend(vim.env.NVIM_DAP)
local function say(kind, text) io.stdout:write(kind, ' ', tostring(text), '\n') end
local function finish(status) io.stdout:flush(); os.exit(status) end
local function wait(what, f)
  if not vim.wait(600000, f, 20) then say('NEVER', what); finish(1) end
end
local ok, err = xpcall(function()
  vim.fn.input = function(prompt) error('asks for ' .. prompt) end
  dofile(vim.env.CONFIGURATIONS)
  local dap = require('dap')
  dap.listeners.after.event_output.test = function(_, body) say('OUTPUT', body.output) end
  for _, how in ipairs({ 'attach', 'launch' }) do
    dap.listeners.after[how].test = function(_, e) if e then say('REFUSED', vim.inspect(e)); finish(1) end end
  end
  local changed = false
  dap.listeners.after['event_ompd/changed'].test = function() changed = true end
  local configuration = vim.json.decode(vim.env.CONFIGURATION)
  if configuration.type == 'ompd' then
    configuration = vim.tbl_extend('force', dap.configurations.c[1], configuration)
  end
  dap.run(configuration)
  local session
  wait('stop', function()
    session = dap.session()
    return changed and session and session.stopped_thread_id and session.current_frame
  end)
  local threads
  session:request('threads', nil, function(e, r) threads = e or r.threads end)
  wait('threads', function() return threads end)
  for _, thread in ipairs(threads) do say('THREAD', thread.name) end
  local frames
  session:request('stackTrace', { threadId = session.stopped_thread_id }, function(e, r)
    frames = e or r.stackFrames
  end)
  wait('stack', function() return frames end)
  for _, frame in ipairs(frames) do say('FRAME', frame.name .. ' ' .. frame.line) end
  local repl = require('dap.repl')
  repl.open()
  repl.execute('omp regions')
  local function shown()
    for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
      if vim.bo[buffer].filetype == 'dap-repl' then
        return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, true), '\n')
      end
    end
    return ''
  end
  wait('console', function() return shown():find('REGIONS', 1, true) end)
  say('CONSOLE', shown())
  local graph
  session:request('ompd/waitGraph', nil, function(e, r) graph = e and vim.inspect(e) or #r.cycles .. ' cycle' end)
  wait('graph', function() return graph end)
  say('GRAPH', graph)
  local ended = false
  dap.disconnect({ terminateDebuggee = false }, function() ended = true end)
  wait('end', function() return ended end)
end, debug.traceback)
if not ok then say('ERROR', err) end
finish(ok and 0 or 1)
`

// findNvimDap returns the path of the plugin nvim-dap, which is in no package of Debian.
func findNvimDap(t *testing.T) string {
	t.Helper()
	plugin := omptest.Option("nvim-dap")
	if plugin == "" {
		t.Skip("no nvim-dap: go run ./internal/testing/campaign editors -nvim-dap DIR")
	}
	return plugin
}

// TestNvim inspects a core and a process in Neovim with the first configuration of docs/guide/dap.md.
func TestNvim(t *testing.T) {
	plugin := findNvimDap(t)
	path := filepath.Dir(buildTool(t))
	t.Run("core", func(t *testing.T) {
		g, err := omptest.UnpackGolden("../../testdata/golden", "llvm-deadlock", t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		core, err := filepath.Abs(g.Core)
		if err != nil {
			t.Fatal(err)
		}
		checkNvim(t, plugin, path, object{"type": "ompd", "target": core, "exe": g.Exe, "sysroot": g.Sysroot})
	})
	for name, run := range deadlocks(t, omptest.Live) {
		t.Run("process/"+name, func(t *testing.T) {
			checkNvim(t, plugin, path, object{"type": "ompd", "target": omptest.Start(t, run).PID})
		})
	}
}

// TestNvimProxy debugs cores and processes in Neovim by gdb's own adapter through the proxy, as docs/guide/dap.md
// describes.
func TestNvimProxy(t *testing.T) {
	plugin := findNvimDap(t)
	tool := buildTool(t)
	for _, suite := range omptest.GdbSuites {
		dir := t.TempDir()
		gdb := "#!/bin/sh\nexec " + omptest.GdbOf(t, suite) + ` -nx -q "$@"` + "\n"
		if err := os.WriteFile(filepath.Join(dir, "gdb"), []byte(gdb), 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Dir(tool) + ":" + dir
		attach := func(exe, key string, value any) object {
			return object{"type": "gdb", "request": "attach", "name": "gdb", "program": exe, key: value}
		}
		for name, run := range deadlocks(t, omptest.Live) {
			t.Run(suite+"/process/"+name, func(t *testing.T) {
				p := omptest.Start(t, run)
				checkNvim(t, plugin, path, attach(p.Exe, "pid", p.PID))
			})
		}
		for name, run := range deadlocks(t, omptest.Gcore) {
			if suite == "trixie" {
				break // gdb 16 opens no cores: see TestAdapters
			}
			t.Run(suite+"/core/"+name, func(t *testing.T) {
				core := omptest.Dump(t, run)
				checkNvim(t, plugin, path, attach(core.Exe, "coreFile", core.Core))
			})
		}
	}
}

// checkNvim runs the script in Neovim on a deadlock, with the configuration of docs/guide/dap.md, and checks its
// output.
func checkNvim(t *testing.T, plugin, path string, configuration object) {
	t.Helper()
	doc, err1 := os.ReadFile("../../docs/guide/dap.md")
	arguments, err2 := json.Marshal(configuration)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(doc), "```lua\n")
	block, _, _ = strings.Cut(block, "```")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"configurations.lua": block + "\n_G.dap = dap", "script.lua": nvimScript,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(omptest.Neovim(t), "--headless", "-u", "NONE", "-i", "NONE", "-n",
		"-c", "luafile "+filepath.Join(dir, "script.lua"))
	cmd.Env = append(os.Environ(), "CONFIGURATIONS="+filepath.Join(dir, "configurations.lua"), "HOME="+dir,
		"XDG_STATE_HOME="+dir, "XDG_CACHE_HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir, "NVIM_DAP="+plugin,
		"PATH="+path+":"+os.Getenv("PATH"), "DEBUGINFOD_URLS=", "CONFIGURATION="+string(arguments))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("Neovim ends with %v", err)
	}
	for _, want := range []string{
		"THREAD OMP 0/3 lock_cycle.c:13 · wait_lock ", "THREAD OMP 2/3 ", "FRAME <OMP-lock_wait> ", "FRAME deposit 13",
		"OUTPUT DEADLOCK  2 threads wait for each other", "REGIONS  1 parallel region", "GRAPH 1 cycle",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("Neovim shows no %q:\n%s", want, out)
		}
	}
}
