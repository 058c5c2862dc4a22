// Testrun runs go test, shows its results, and counts them.
//
//	testrun [-sum FILE] -- ARGUMENTS OF GO TEST
//
// It prints a line for each package, the output of the tests that failed, the packages and tests
// that took longest, and at the end a line "N passed, N failed". The exit status is 1 if a test or
// a package failed. With -sum, both numbers are appended to FILE. There is no limit on time: after
// some minutes without a result it prints which tests run.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"time"
)

// patience is the time without a result after which the tests that run are printed.
const patience = 5 * time.Minute

func main() {
	sum := flag.String("sum", "", "append the numbers of tests that passed and failed to this `file`")
	flag.Parse()
	heedInterrupts()
	r := newResults(os.Stdout)
	err := run(r, flag.Args())
	passed, failed := r.finish(err)
	if *sum != "" {
		err = errors.Join(err, appendLine(*sum, fmt.Sprintln(passed, failed)))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
	}
	if failed > 0 || err != nil {
		os.Exit(1)
	}
}

// heedInterrupts ends the program at SIGINT, even if a shell started it in the background and so made it ignore
// that signal: the tests would inherit this, and some interrupt the programs that they start.
func heedInterrupts() {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	go func() {
		<-interrupts
		os.Exit(exitInterrupted)
	}()
}

// exitInterrupted is the exit status after SIGINT, as shells have it.
const exitInterrupted = 130

// run runs go test and adds its events to r.
func run(r *results, args []string) error {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		return err
	}
	lines := make(chan string)
	read := make(chan error, 1)
	go func() { read <- splitLines(out, lines) }()
	silence := time.NewTicker(patience)
	defer silence.Stop()
	for lines != nil {
		select {
		case line, ok := <-lines:
			if !ok {
				lines = nil
				break
			}
			if r.add(line) {
				silence.Reset(patience)
			}
		case <-silence.C:
			r.printRunning(time.Now())
		}
	}
	err = <-read
	var status *exec.ExitError
	if e := cmd.Wait(); !errors.As(e, &status) { // failures are in the results
		err = errors.Join(err, e)
	}
	return err
}

// appendLine appends a line to a file.
func appendLine(name, line string) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, line)
	return errors.Join(err, f.Close())
}
