// Testrun runs go test, shows its results, and counts them.
//
//	testrun [-sum FILE] [-resume FILE] -- ARGUMENTS OF GO TEST
//
// It prints a line for each package, the output of the tests that failed, the packages and tests
// that took longest, and at the end a line "N passed, N failed". The exit status is 1 if a test or
// a package failed. With -sum, both numbers are appended to FILE. With -resume, the packages in FILE
// are left out, and each that passes is appended to it. There is no limit on time: after some minutes
// without a result it prints which tests run.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// patience is the time without a result after which the tests that run are printed.
const patience = 5 * time.Minute

func main() {
	sum := flag.String("sum", "", "append the numbers of tests that passed and failed to this `file`")
	resume := flag.String("resume", "", "leave out the packages in this `file`, and append each that passes")
	flag.Parse()
	heedInterrupts()
	r := newResults(os.Stdout)
	err := resumed(r, flag.Args(), *resume)
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

// resumed is run without the packages that are in a file (none for ""). Each package that passes, or has no tests, is
// appended to the file.
func resumed(r *results, args []string, file string) error {
	if file == "" {
		return run(r, args)
	}
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	r.passedTo = file
	left, err := without(args, strings.Fields(string(text)))
	if err == nil && len(left) == 0 {
		r.packages = append(r.packages, taken{"all packages, earlier", 0})
		return nil
	}
	return errors.Join(err, run(r, left))
}

// without returns arguments of go test with the packages that their patterns ("./...") match, in order, but for those
// in passed. It returns nil if no package is left.
func without(args, passed []string) ([]string, error) {
	isPattern := func(arg string) bool { return strings.HasPrefix(arg, ".") }
	rest := slices.DeleteFunc(slices.Clone(args), isPattern)
	patterns := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return !isPattern(arg) })
	list, err := exec.Command("go", append([]string{"list"}, patterns...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("list %q: %w", patterns, err)
	}
	names := slices.DeleteFunc(strings.Fields(string(list)), func(name string) bool {
		return slices.Contains(passed, name)
	})
	if len(names) == 0 {
		return nil, nil
	}
	return append(rest, names...), nil
}

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
