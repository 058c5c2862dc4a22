package live

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// TestQuiet looks at a program without signals for stopped threads, and checks that signals for
// children that end arrive.
func TestQuiet(t *testing.T) {
	prog := startProgram(t, "busy.c")
	p := openProcess(t, prog.pid, Options{})
	before, err := setChildAction(nil)
	if err != nil || before.flags&noStops != 0 {
		t.Fatalf("%+v, %v", before, err)
	}
	defer setStops(true)
	Quiet()
	pause, err := p.Look(background, func(callbacks.Target) error { return nil })
	if err != nil || pause.Stops == 0 {
		t.Fatalf("%+v, %v", pause, err)
	}
	after, err := setChildAction(nil)
	before.flags |= noStops
	if err != nil || after != before {
		t.Errorf("on SIGCHLD: %+v, %v; want %+v", after, err, before)
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	defer signal.Stop(ended)
	if err := exec.Command("true").Run(); err != nil {
		t.Fatal(err)
	}
	<-ended
	prog.finish()
}

// TestQuietStart starts a program in a process after Quiet, and checks that its end is reported.
func TestQuietStart(t *testing.T) {
	defer setStops(true)
	Quiet()
	p, err := Start([]string{"true"})
	if err != nil {
		t.Fatal(err)
	}
	if a, err := setChildAction(nil); err != nil || a.flags&noStops != 0 {
		t.Errorf("on SIGCHLD: %+v, %v", a, err)
	}
	for e := range p.Events() {
		if e.Ended {
			break
		}
	}
}
