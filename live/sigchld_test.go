package live

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// TestQuiet looks at a program without signals of threads that stop; those of children that end come.
func TestQuiet(t *testing.T) {
	prog := startProgram(t, "busy.c")
	p := openProcess(t, prog.pid, Options{})
	before, err := onChild(nil)
	if err != nil || before.flags&noStops != 0 {
		t.Fatalf("%+v, %v", before, err)
	}
	defer setStops(true)
	Quiet()
	pause, err := p.Look(background, func(callbacks.Target) error { return nil })
	if err != nil || pause.Stops == 0 {
		t.Fatalf("%+v, %v", pause, err)
	}
	after, err := onChild(nil)
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

// TestQuietStart starts a program in a process that was made quiet, and noteTerminalSignal of its end.
func TestQuietStart(t *testing.T) {
	defer setStops(true)
	Quiet()
	p, err := Start([]string{"true"})
	if err != nil {
		t.Fatal(err)
	}
	if a, err := onChild(nil); err != nil || a.flags&noStops != 0 {
		t.Errorf("on SIGCHLD: %+v, %v", a, err)
	}
	for e := range p.Events() {
		if e.Ended {
			break
		}
	}
}
