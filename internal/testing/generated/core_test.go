package generated

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// core makes the kernel write a core of the program, in which the notes are the truth of the same moment, and
// looks at it.
func (r *run) core(ended <-chan struct{}) error {
	if err := syscall.Kill(r.pid, syscall.SIGQUIT); errors.Is(err, syscall.ESRCH) {
		return nil // it has ended by itself
	}
	<-ended
	cores, err := filepath.Glob(filepath.Join(r.dir, "core*"))
	if err != nil || len(cores) == 0 {
		return err // it has ended by itself, or the kernel writes cores elsewhere
	}
	truth, err := coreTruth(cores[0], r.page)
	if err != nil {
		return err
	}
	pic, err := limited(func(ctx context.Context) (*picture.Picture, error) {
		t, err := engine.Open(ctx, cores[0], engine.Options{})
		if err != nil {
			return nil, err
		}
		defer t.Close()
		return lookAt(ctx, t)
	})
	if errors.Is(err, errEndless) {
		r.find("endless look", "at a core: %v", err)
		return nil
	}
	if err != nil {
		return err
	}
	r.Cores++
	j := judge{
		out: &r.Outcome, program: r.program, core: true, pic: pic, still: same(truth, truth), all: truth,
		objects: r.objects,
	}
	j.facts(r.Hang)
	if r.Hang {
		j.explained()
	} else {
		j.verdictsAmid(r)
	}
	r.show(pic)
	return nil
}

// coreTruth reads the page of a core's process.
func coreTruth(path string, page uint64) (Truth, error) {
	core, err := corefile.Open(path, corefile.Options{})
	if err != nil {
		return nil, err
	}
	defer core.Close()
	data := make([]byte, pageSize)
	if err := core.ReadMemory(callbacks.Addr(page), data); err != nil {
		return nil, fmt.Errorf("truth: %w", err)
	}
	return truthIn(data)
}
