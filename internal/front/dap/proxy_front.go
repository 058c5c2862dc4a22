package dap

import (
	"errors"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/contain"
)

// front is the client of a proxy. It gets the errors of the proxy itself.
type front struct {
	client   *outlet
	logPanic func(error) error // see Config.logPanic
	sorry    sync.Once         // the user was informed of a panic
}

// contain calls do, for the proxy's own work. It turns a panic into an error and logs it; the user is informed
// of the first one.
func (f *front) contain(do func() error) error {
	err := contain.Run(do)
	if errors.As(err, new(*contain.Panic)) {
		err = f.logPanic(err)
		f.sorry.Do(func() { f.client.print(important, err.Error()) })
	}
	return err
}

// spawn calls do in a goroutine of its own.
func (f *front) spawn(do func()) {
	go func() { _ = f.contain(func() error { do(); return nil }) }()
}
