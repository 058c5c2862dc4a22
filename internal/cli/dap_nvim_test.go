package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
)

// nvimScript attaches with the first configuration of docs/dap.md, waits for the stop, and prints threads, the stack,
// what the console shows for a verb, and what is asked beyond the protocol.
const nvimScript = `
vim.opt.runtimepath:prepend(vim.env.NVIM_DAP)
local function say(kind, text) io.stdout:write(kind, ' ', tostring(text), '\n') end
local function finish(status) io.stdout:flush(); os.exit(status) end
local function wait(what, f)
  if not vim.wait(600000, f, 20) then say('NEVER', what); finish(1) end
end
local ok, err = xpcall(function()
  dofile(vim.env.CONFIGURATIONS)
  local dap = require('dap')
  dap.listeners.after.event_output.test = function(_, body) say('OUTPUT', body.output) end
  local changed = false
  dap.listeners.after['event_ompd/changed'].test = function() changed = true end
  local configuration = vim.tbl_extend('force', dap.configurations.c[1], vim.json.decode(vim.env.ARGUMENTS))
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

// nvimDap is where the plugin nvim-dap is, which is in no package of Debian.
func nvimDap(t *testing.T) string {
	t.Helper()
	plugin := os.Getenv("OMPD_NVIM_DAP")
	if plugin == "" {
		t.Skip("no nvim-dap: `make editor-test NVIM_DAP=DIR` runs this")
	}
	return plugin
}

// TestNvim opens a core in Neovim with the first configuration of docs/dap.md.
func TestNvim(t *testing.T) {
	plugin := nvimDap(t)
	tool := buildTool(t)
	g, err := omptest.UnpackGolden("../../testdata/golden", "llvm-deadlock", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	core, err := filepath.Abs(g.Core)
	if err != nil {
		t.Fatal(err)
	}
	arguments := fmt.Sprintf(`{"target":%q,"exe":%q,"sysroot":%q}`, core, g.Exe, g.Sysroot)
	path := filepath.Dir(tool)
	printed := nvim(t, plugin, path, "ARGUMENTS="+arguments)
	for _, want := range []string{
		"THREAD OMP 0/3 wait_lock second", "THREAD OMP 2/3 work_parallel", "FRAME <OMP-lock_wait> ", "FRAME deposit 13",
		"OUTPUT DEADLOCK  2 threads wait for each other", "REGIONS  1 parallel region", "GRAPH 1 cycle",
	} {
		if !strings.Contains(printed, want) {
			t.Errorf("Neovim shows no %q:\n%s", want, printed)
		}
	}
}

// nvim runs the script in Neovim, with the configurations of docs/dap.md, and returns what it prints.
func nvim(t *testing.T, plugin, path string, environment ...string) string {
	t.Helper()
	doc, err := os.ReadFile("../../docs/dap.md")
	if err != nil {
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
		"PATH="+path+":"+os.Getenv("PATH"), "DEBUGINFOD_URLS=")
	cmd.Env = append(cmd.Env, environment...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("Neovim ends with %v", err)
	}
	return string(out)
}
