package server

import (
	"context"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// openHeld opens what the policy has allowed. A core is held from before it is
// checked once more until it is open, and opened by what holds it: so it is the file
// that was checked, whatever becomes of the names that led to it meanwhile.
func (c *Config) openHeld(ctx context.Context, spec *ompdv1.TargetSpec) (Opened, error) {
	path := spec.GetCore()
	if path == "" {
		return c.Open(ctx, spec)
	}
	file, err := os.OpenFile(path, unix.O_PATH, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, bare(err))
	}
	defer file.Close()
	held := fmt.Sprintf("/proc/self/fd/%d", file.Fd())
	if at, err := os.Readlink(held); err != nil || !c.Policy.below(strings.TrimSuffix(at, " (deleted)")) {
		return nil, notAllowed(path)
	}
	spec = proto.CloneOf(spec)
	spec.Source = &ompdv1.TargetSpec_Core{Core: held}
	if spec.Label == "" {
		spec.Label = path
	}
	opened, err := c.Open(ctx, spec)
	if err != nil {
		return nil, heldError{err, strings.NewReplacer(held, spec.Label)}
	}
	return opened, nil
}

// heldError is an error of opening what was held, with the name that the client
// knows.
type heldError struct {
	err  error
	name *strings.Replacer
}

func (e heldError) Error() string { return e.name.Replace(e.err.Error()) }
func (e heldError) Unwrap() error { return e.err }
