package cli

import (
	"context"
	"os"
	"os/signal"
	"time"
)

// Interrupts handles Ctrl-C for a command line. The first one cancels a context; a second one ends the process. A
// verb that starts a program takes the signals over, and none is lost in between.
type Interrupts struct {
	signals chan os.Signal
	cancel  context.CancelFunc
	taken   chan struct{} // closed by take
	ended   chan struct{} // closed when no signal cancels the context any more
}

// patience is the time after which the first Ctrl-C ends the process, if the verb has not ended. A server takes up
// to five seconds to end its calls, and a job two seconds to end its commands.
const patience = 10 * time.Second

// CatchInterrupts starts to handle Ctrl-C, and returns the context that it cancels. A signal that the shell has
// ignored stays ignored.
func CatchInterrupts() (*Interrupts, context.Context) {
	ctx, cancel := context.WithCancel(context.Background())
	i := &Interrupts{
		signals: make(chan os.Signal, caughtSignals), cancel: cancel,
		taken: make(chan struct{}), ended: make(chan struct{}),
	}
	if !signal.Ignored(os.Interrupt) {
		signal.Notify(i.signals, os.Interrupt)
	}
	go i.wait()
	return i, ctx
}

// wait cancels the context at the first signal, unless a verb takes the signals over before.
func (i *Interrupts) wait() {
	defer close(i.ended)
	select {
	case <-i.signals:
		signal.Stop(i.signals)
		i.cancel()
		time.AfterFunc(patience, func() { os.Exit(ExitInterrupted) })
	case <-i.taken:
	}
}

// take returns the channel of the signals, which do not cancel the context any more. A signal that came before has
// canceled the context, or is in the channel. A nil Interrupts has a channel that gets nothing.
func (i *Interrupts) take() chan os.Signal {
	if i == nil {
		return make(chan os.Signal, caughtSignals)
	}
	close(i.taken)
	<-i.ended
	return i.signals
}

// giveUp makes signals end the process, as before CatchInterrupts. A signal that came before cancels the context.
func (i *Interrupts) giveUp() {
	if i == nil {
		return
	}
	signals := i.take()
	signal.Stop(signals)
	select {
	case <-signals:
		i.cancel()
	default:
	}
}
