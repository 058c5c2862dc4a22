// Campaign runs tests that take minutes to hours, with options.
//
//	go run ./internal/testing/campaign                        list the campaigns
//	go run ./internal/testing/campaign NAME -h                list the options of one
//	go run ./internal/testing/campaign soak -looks 500        run one
//
// It runs the commands that prepare the campaign, and then go test with the campaign's tests. The options reach
// the tests in one environment variable (omptest.OptionsVariable). It prints both, so that a single test can be
// repeated. The exit status is that of the first command that failed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

func main() {
	err := run(os.Args[1:])
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, "campaign:", err)
		os.Exit(max(exit.ExitCode(), 1)) // -1 after a signal
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "campaign:", err)
		os.Exit(2)
	}
}

// run runs a command line.
func run(args []string) error {
	if len(args) == 0 || strings.HasPrefix(args[0], "-h") || args[0] == "--help" {
		list(os.Stdout)
		return nil
	}
	i := slices.IndexFunc(campaigns, func(c campaign) bool { return c.name == args[0] })
	if i < 0 {
		return fmt.Errorf("no campaign %s: without a name, the campaigns are listed", args[0])
	}
	c := campaigns[i]
	values, err := c.parse(args[1:])
	if err != nil {
		return err
	}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("find the module: %w", err)
	}
	for _, command := range c.commands(values) {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = strings.TrimSpace(string(root)), os.Stdout, os.Stderr
		cmd.Env = append(os.Environ(), omptest.OptionsVariable+"="+variable(values))
		fmt.Fprintf(os.Stdout, "== %s='%s' '%s'\n", omptest.OptionsVariable, variable(values),
			strings.Join(command, "' '")) // as a shell takes it
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s %s: %w", c.name, command[0], err)
		}
	}
	return nil
}

// list writes a table of the campaigns.
func list(to io.Writer) {
	fmt.Fprint(to, "usage: go run ./internal/testing/campaign NAME [FLAGS]   (NAME -h lists the flags)\n\n")
	for _, c := range campaigns {
		fmt.Fprintf(to, "%-12s  %s\n%14s(%s; needs %s)\n", c.name, c.checks, "", c.time, c.needs)
	}
}

// parse returns the options that are set, by their names. Paths are absolute.
func (c campaign) parse(args []string) (map[string]string, error) {
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	given := map[string]*string{}
	for _, o := range c.options {
		given[o.name] = flags.String(o.name, o.value, o.usage)
	}
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("%s takes no argument %s", c.name, flags.Arg(0))
	}
	values := map[string]string{"campaign": c.name}
	for _, o := range c.options {
		value := *given[o.name]
		if o == seed && value == "" {
			value = strconv.FormatInt(time.Now().Unix(), 10)
		}
		if value == "" {
			continue
		}
		kind, _ := flag.UnquoteUsage(flags.Lookup(o.name))
		if kind == "directory" || kind == "file" {
			path, err := filepath.Abs(value) // tests run in their packages
			if err != nil {
				return nil, err
			}
			value = path
		}
		if strings.ContainsAny(value, " \t\n") {
			return nil, fmt.Errorf("-%s %q has white space, which separates options", o.name, value)
		}
		values[o.name] = value
	}
	return values, nil
}

// variable returns the value of omptest.OptionsVariable for some options.
func variable(values map[string]string) string {
	var words []string
	for name, value := range values {
		words = append(words, name+"="+value)
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// commands returns the commands of a campaign: those that prepare it, and go test.
func (c campaign) commands(values map[string]string) (list [][]string) {
	for _, words := range c.setup {
		command := []string{}
		for _, word := range words {
			command = append(command, os.Expand(word, func(name string) string { return values[name] }))
		}
		list = append(list, command)
	}
	if len(c.tests) > 0 {
		tests := "^(" + strings.Join(c.tests, "|") + ")$"
		test := []string{"go", "test", "-count=1", "-timeout=0", "-vet=off", "-v", "-run", tests}
		list = append(list, append(test, c.packages...))
	}
	return list
}
