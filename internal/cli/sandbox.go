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

// enterSandbox takes away what reading a core needs no more, before it is opened. A
// process is looked at with what a sandbox takes away, and a process of this tool that
// does more than one verb must keep it.
func (a *app) enterSandbox(name string) error {
	mode, err := sandbox.ParseMode(a.sandboxMode)
	if err != nil {
		return usageError{err}
	}
	_, numberErr := strconv.Atoi(name)
	if !a.Alone || a.has(name) || numberErr == nil {
		return nil
	}
	network := len(a.open.session().Debuginfod) > 0
	var write []string
	if network || name == standardStream || corefile.Compressed(name) { // files are downloaded or unpacked there
		write = append(write, os.TempDir())
	}
	if a.toFile() {
		write = append(write, filepath.Dir(a.out))
	}
	report, err := sandbox.Enter(mode, sandbox.Policy{Write: write, Network: network})
	a.locked = &report
	return err
}

// sandboxCheck says for doctor which rights the process gave up.
func sandboxCheck(r sandbox.Report) picture.Check {
	c := picture.Check{Name: "sandbox", Status: picture.CheckOK,
		Detail: "this process can write no files but temporary ones, start no program and reach nobody",
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
		c.Detail, c.Fix = "this process kept its rights: --sandbox=off", "leave --sandbox=off out"
		return c
	}
	c.Detail = "not all rights were given up that reading a core does not need; " +
		strings.ReplaceAll(r.Missing.Error(), "\n", "; ")
	c.Fix = "look at cores that nobody vouches for as a user who may do little, or in a container; --sandbox=require " +
		"refuses to go on without"
	return c
}
