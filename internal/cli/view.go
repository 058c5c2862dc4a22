package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html/template"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
)

// viewing contains the flags of view.
type viewing struct {
	listen    string
	noBrowser bool
	interval  time.Duration
}

// minInterval is the shortest time between two snapshots of a process for a page.
const minInterval = time.Second

// viewVerb returns the verb view.
func viewVerb(a *app) *cobra.Command {
	v := viewing{listen: "127.0.0.1:0", interval: 5 * time.Second}
	cmd := &cobra.Command{
		Use:   "view CORE|PID",
		Short: "Open the report in the browser; for a process, the page refreshes",
		Long: `Serves the page that "ompd-inspect report --html FILE" writes, on this machine only, and opens it
in the browser (BROWSER, or xdg-open). It prints an address that contains a secret and works once:
only the browser that opens it first gets the page. Ctrl-C ends the server.

For a process, the page takes a new snapshot every --interval while it is open and visible.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if v.interval != 0 && v.interval < minInterval {
				const wrong = "--interval %v: it must be at least %v, or 0 for one snapshot"
				return usageError{fmt.Errorf(wrong, v.interval, minInterval)}
			}
			look, err := newLooker(cmd, a.Stdin, args[0], v.interval)
			if err != nil {
				return err
			}
			return a.view(cmd.Context(), v, look)
		},
	}
	f := cmd.Flags()
	f.StringVar(&v.listen, "listen", v.listen, "loopback address and port; port 0 picks a free one")
	f.BoolVar(&v.noBrowser, "no-browser", false, "only print the address")
	f.DurationVar(&v.interval, "interval", v.interval, "time between two snapshots of a process (0: one snapshot only)")
	return a.targeted(cmd)
}

// view serves the page until a signal arrives.
func (a *app) view(ctx context.Context, v viewing, look *looker) error {
	ctx, stop := signal.NotifyContext(ctx, unix.SIGINT, unix.SIGTERM)
	defer stop()
	l, err := listenTCP(v.listen, false)
	if err != nil {
		return err
	}
	if _, err := look.page(ctx); err != nil { // a target that cannot be read opens no browser
		return errors.Join(err, l.Close())
	}
	s := newPageServer(l.Addr().String(), look.page)
	s.log = log.New(a.Stderr, "ompd-inspect: ", 0)
	if _, err := fmt.Fprintf(a.Stdout, "%s\n", s.invitation()); err != nil {
		return errors.Join(err, l.Close())
	}
	if !v.noBrowser {
		done, err := openBrowser(s.invitation())
		defer done()
		if err != nil {
			fmt.Fprintf(a.Stderr, "ompd-inspect: no browser was opened (%v): open the address yourself\n", err)
		}
	}
	return s.serve(ctx, l)
}

// redirectPage is a page that leads a browser to an address.
var redirectPage = template.Must(template.New("").Parse(`<!DOCTYPE html>
<meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={{.}}">
<title>ompd-inspect</title>
<p><a href="{{.}}">Open the report</a>
`))

// openBrowser opens an address in the user's browser, without waiting for it. All users can read the command
// lines of processes, so the browser gets the name of a file with the address, which only this user can read.
// done removes the file.
func openBrowser(address string) (done func(), err error) {
	done = func() {}
	dir, err := os.MkdirTemp("", "ompd-inspect-view-") // with mode 0700
	if err != nil {
		return done, err
	}
	done = func() { os.RemoveAll(dir) }
	name := filepath.Join(dir, "open.html")
	var page bytes.Buffer
	err = errors.Join(redirectPage.Execute(&page, address), os.WriteFile(name, page.Bytes(), 0o600))
	if err != nil {
		return done, err
	}
	return done, startBrowser("file://" + name)
}

// startBrowser starts the user's browser, without waiting for it.
func startBrowser(address string) error {
	name := "xdg-open"
	if b, _, _ := strings.Cut(os.Getenv("BROWSER"), ":"); b != "" {
		name = b
	}
	cmd := exec.Command(name, address)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // a failure does not matter, because the address is printed
	return nil
}

// looker makes pages of a target. Each snapshot is a process of its own, because it gives up its rights before
// it reads a core, and a server of pages cannot do that.
type looker struct {
	command []string
	input   *os.File // standard input of a snapshot, or nil
	again   bool     // each page is a new snapshot

	mu    sync.Mutex
	last  []byte
	since time.Time // time at which page was made
}

// newLooker returns the looker for a target, with the flags of a command line. A core on stdin is read by the
// only snapshot of it.
func newLooker(cmd *cobra.Command, stdin *os.File, name string, interval time.Duration) (*looker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("this program's file: %w", err)
	}
	l := &looker{command: []string{self, "report", "--format", "html"}}
	if _, err := strconv.Atoi(name); err == nil && interval > 0 {
		l.again = true
		l.command = append(l.command, "--refresh", strconv.Itoa(int(interval/time.Second)))
	}
	if name == standardStream {
		l.input = stdin
	}
	own := []string{"listen", "no-browser", "interval", pidFlag}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(own, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			l.command = append(l.command, "--"+f.Name+"="+value)
		}
	})
	l.command = append(l.command, "--", name)
	return l, nil
}

// page returns the page of the target. A page that is younger than minInterval is returned again.
func (l *looker) page(ctx context.Context) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last != nil && (!l.again || time.Since(l.since) < minInterval/2) {
		return l.last, nil
	}
	cmd := exec.CommandContext(ctx, l.command[0], l.command[1:]...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if l.input != nil {
		cmd.Stdin = l.input
	}
	if err := cmd.Run(); err != nil {
		if why := strings.TrimSpace(strings.TrimPrefix(said.String(), "ompd-inspect: ")); why != "" {
			return nil, errors.New(why)
		}
		return nil, fmt.Errorf("the look: %w", err)
	}
	l.last, l.since = out.Bytes(), time.Now()
	return l.last, nil
}
