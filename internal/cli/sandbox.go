package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/sandbox"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// enterSandbox gives up the rights that reading a core does not need, before it is opened. It has no effect for
// a process, because reading one needs these rights, and for a process of this tool that runs more than one
// verb.
func (a *app) enterSandbox(name string) error {
	_, numberErr := strconv.Atoi(name)
	if a.contains(name) || numberErr == nil {
		_, err := a.parseSandbox()
		return err
	}
	var write []string
	if name == standardStream || corefile.Compressed(name) {
		write = append(write, os.TempDir()) // the core is unpacked there
	}
	if a.toFile() {
		write = append(write, filepath.Dir(a.out))
	}
	return a.lockDown(write)
}

// parseSandbox returns the value of --sandbox.
func (a *app) parseSandbox() (sandbox.Mode, error) {
	mode, err := sandbox.ParseMode(a.sandboxMode)
	if err != nil {
		return mode, usageError{err}
	}
	return mode, nil
}

// lockDown gives up the rights that reading cores does not need, once. Files can be written in the directories
// of write only.
func (a *app) lockDown(write []string) error {
	mode, err := a.parseSandbox()
	if err != nil || !a.Alone || a.locked != nil {
		return err
	}
	network := len(a.open.engineOptions().Debuginfod) > 0
	if network {
		write = append(write, os.TempDir()) // downloaded files
	}
	report, err := sandbox.Enter(mode, sandbox.Policy{Write: write, Network: network})
	a.locked = &report
	return err
}

// sandboxCheck returns the check of doctor that lists the rights this process gave up.
func sandboxCheck(r sandbox.Report) picture.Check {
	c := picture.Check{Name: "sandbox", Status: picture.CheckOK,
		Detail: "this process can write only temporary files, and can neither start programs nor use the network",
	}
	switch {
	case r.Missing == nil:
		return c
	case r.Files || r.Calls:
		c.Status = picture.CheckPartly
	default:
		c.Status = picture.CheckMissing
	}
	if errors.Is(r.Missing, sandbox.ErrOff) {
		c.Detail, c.Fix = "this process kept its rights: --sandbox=off", "leave out --sandbox=off"
		return c
	}
	c.Detail = "not all rights were given up that reading a core does not need; " +
		strings.ReplaceAll(r.Missing.Error(), "\n", "; ")
	c.Fix = "inspect cores of unknown origin as an unprivileged user or in a container; --sandbox=require refuses " +
		"to run without the sandbox"
	return c
}
