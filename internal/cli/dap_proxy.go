package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ompd-inspect/ompd-inspect/gdb"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/front/dap"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/sockets"
	"github.com/ompd-inspect/ompd-inspect/internal/target/delve"
	"github.com/ompd-inspect/ompd-inspect/live"
)

// proxyFlags contains the flags that name the adapter of a proxy.
type proxyFlags struct {
	proxy         bool
	connect       string
	target        string
	runtimeFrames bool
}

// proxy relays between the client and an adapter: the one that argv starts, or the one that listens at an
// address.
func (e editors) proxy(ctx context.Context, f proxyFlags, argv []string) error {
	c := dap.ProxyConfig{
		Config: e.config(), OpenHeld: e.openHeld,
		Attach: dap.Attach{
			Target: dap.Name(f.target), RuntimeFrames: f.runtimeFrames, Exe: e.open.exe, Sysroot: e.open.sysroot,
		},
	}
	var link dap.Link
	var err error
	end := func() {}
	switch {
	case f.connect != "" && len(argv) > 0:
		return usageError{errors.New("dap --proxy: use either -- ADAPTER ARGS or --connect")}
	case f.connect != "":
		c.Debugger = dap.Delve()
		if c.Attach.Target == "" {
			c.Attach.Target = dap.Name(delve.Scheme + f.connect)
		}
		link, err = connectAdapter(ctx, f.connect)
	case len(argv) == 0:
		return usageError{errors.New("dap --proxy: which adapter? `ompd-inspect dap --proxy -- gdb -i dap`")}
	default:
		c.Debugger = dap.DebuggerOf(argv)
		var done func()
		argv, done, err = e.withScript(c.Debugger, argv)
		defer done()
		if err == nil {
			link, end, err = e.startAdapter(ctx, c.Debugger, argv)
		}
	}
	if err != nil {
		return err
	}
	defer end()
	return dap.Proxy(ctx, e.Stdin, e.Stdout, link, c)
}

// openHeld opens a process that a debugger controls.
func (e editors) openHeld(pid int, registers func() map[int]map[string]uint64) (*engine.Target, error) {
	o := e.open.engineOptions()
	o.NoStop = true
	options := o.Live()
	options.Registers = registers
	p, err := live.Open(pid, options)
	if err != nil {
		return nil, err
	}
	return engine.NewProcessTarget(p, nil, o), nil
}

// withScript adds gdb's OpenMP commands to gdb's command line. done removes their files.
func (e editors) withScript(d dap.Debugger, argv []string) (with []string, done func(), err error) {
	done = func() {}
	if d.Name != "gdb" {
		return argv, done, nil
	}
	dir, err := os.MkdirTemp("", "ompd-inspect-gdb-")
	if err != nil {
		return nil, done, err
	}
	done = func() { os.RemoveAll(dir) }
	if err := os.CopyFS(dir, gdb.Script); err != nil {
		return nil, done, fmt.Errorf("gdb's script: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, done, err
	}
	with = append(with, argv[0])
	for _, command := range []string{
		"source " + filepath.Join(dir, "ompd_inspect.py"), "set omp program " + self,
		"set omp follow off", "set omp thread-names off",
	} {
		with = append(with, "-iex", command)
	}
	return append(with, argv[1:]...), done, nil
}

// adapterEnd is the time that an adapter has to exit after the client has disconnected, before it is killed.
const adapterEnd = 3 * time.Second

// child is an adapter that was started.
type child struct {
	cmd    *exec.Cmd
	exited chan struct{}
	how    string // how it ended, if it failed; valid after exited is closed
}

// startChild starts an adapter in a process group of its own, so that the processes it starts can be ended with
// it.
func startChild(cmd *exec.Cmd) (*child, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("the debug adapter: %w", err)
	}
	c := &child{cmd: cmd, exited: make(chan struct{})}
	go func() {
		defer close(c.exited)
		if p, err := cmd.Process.Wait(); err != nil {
			c.how = err.Error()
		} else if !p.Success() {
			c.how = p.String()
		}
	}()
	return c, nil
}

// end waits for the adapter to exit, and kills it after adapterEnd. It returns a description of the failure, or
// "".
func (c *child) end() string {
	select {
	case <-c.exited:
		return c.how
	case <-time.After(adapterEnd):
	}
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
	<-c.exited
	return fmt.Sprintf("it did not end by itself within %v", adapterEnd)
}

// startAdapter starts an adapter. end waits for its exit.
func (e editors) startAdapter(
	ctx context.Context, d dap.Debugger, argv []string,
) (link dap.Link, end func(), err error) {
	if d.Name == "delve" {
		return e.startDelve(ctx, argv)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = e.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return link, nil, err
	}
	c, err := startChild(cmd)
	if err != nil {
		return link, nil, err
	}
	link = dap.Link{Reader: out, Writer: in, Close: sync.OnceValue(in.Close), Ended: c.end}
	return link, func() { _ = link.Close(); c.end() }, nil
}

// startDelve starts `dlv dap`, which connects to a listener of this process.
func (e editors) startDelve(ctx context.Context, argv []string) (link dap.Link, end func(), err error) {
	for _, a := range argv[1:] {
		if a == "-l" || strings.HasPrefix(a, "--listen") || a == "--headless" {
			return link, nil, usageError{errors.New(
				"dap --proxy: leave out the address of `dlv dap`; --connect HOST:PORT uses a Delve that listens")}
		}
	}
	dir, err := os.MkdirTemp("", "ompd-inspect-dlv-") // with mode 0700
	if err != nil {
		return link, nil, err
	}
	defer os.RemoveAll(dir)
	l, err := sockets.Listen(filepath.Join(dir, "s"))
	if err != nil {
		return link, nil, err
	}
	defer l.Close()
	cmd := exec.Command(argv[0], append(argv[1:len(argv):len(argv)], "--client-addr="+addressOf(l))...)
	cmd.Stdout, cmd.Stderr = e.Stderr, e.Stderr
	c, err := startChild(cmd)
	if err != nil {
		return link, nil, err
	}
	defer context.AfterFunc(ctx, func() { l.Close() })()
	go func() {
		<-c.exited
		l.Close()
	}()
	conn, err := l.Accept() // only this user can enter the directory
	if err != nil {
		c.end()
		return link, nil, fmt.Errorf("the debug adapter ended before it connected: %s", c.how)
	}
	link = dap.Link{Reader: conn, Writer: conn, Close: sync.OnceValue(conn.Close), Ended: c.end}
	return link, func() { _ = link.Close(); c.end() }, nil
}

// connectAdapter connects to an adapter that listens.
func connectAdapter(ctx context.Context, address string) (link dap.Link, err error) {
	var d net.Dialer
	network := "tcp"
	if strings.Contains(address, "/") {
		network = "unix"
	}
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return link, fmt.Errorf("the debug adapter: %w", err)
	}
	return dap.Link{Reader: conn, Writer: conn, Close: sync.OnceValue(conn.Close)}, nil
}
