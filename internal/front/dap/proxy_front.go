package dap

import (
	"errors"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/contain"
)

// front is the client of a proxy, which is told of what goes wrong in the proxy itself.
type front struct {
	client *outlet
	noted  func(error) error // see Config.noted
	sorry  sync.Once         // the user was told of a panic
}

// contained does what belongs to the proxy and not to the debugger. A panic is an error, which
// has been noted; the first one is said to the user.
func (f *front) contained(do func() error) error {
	err := contain.Run(do)
	if errors.As(err, new(*contain.Panic)) {
		err = f.noted(err)
		f.sorry.Do(func() { f.client.say(important, err.Error()) })
	}
	return err
}

// begin calls do in a goroutine of its own.
func (f *front) begin(do func()) {
	go func() { _ = f.contained(func() error { do(); return nil }) }()
}
