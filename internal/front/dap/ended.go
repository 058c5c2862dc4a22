package dap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// watchEnd returns a channel that is closed when a process of this machine ends. It returns nil for other targets, and
// if the kernel has no descriptors of processes (before Linux 5.3): the next request finds out.
func watchEnd(ctx context.Context, c Attach) <-chan struct{} {
	pid, err := strconv.Atoi(string(c.Target))
	if err != nil || c.Server != "" {
		return nil
	}
	ended := make(chan struct{})
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		close(ended)
		return ended
	}
	if err != nil {
		return nil
	}
	process := os.NewFile(uintptr(fd), fmt.Sprintf("process %d", pid))
	stop, session, err := os.Pipe()
	if err != nil {
		process.Close()
		return nil
	}
	context.AfterFunc(ctx, func() { session.Close() })
	go func() {
		defer process.Close()
		defer stop.Close()
		polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(stop.Fd())}}
		for ctx.Err() == nil && polled[0].Revents == 0 {
			if _, err := unix.Poll(polled, -1); err != nil && !errors.Is(err, unix.EINTR) {
				return
			}
		}
		if polled[0].Revents != 0 {
			close(ended)
		}
	}()
	return ended
}

// processEnded tells the client that the process has ended, which ends the session.
func (a *adapter) processEnded() {
	a.gone, a.exited = nil, true
	if !a.over {
		a.print(important, "the process has ended")
	}
	a.endSession()
}

// endSession sends the event of the session's end, once.
func (a *adapter) endSession() {
	if !a.over {
		a.over = true
		a.sendEvent("terminated", nil)
	}
}
