package server

import (
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// debuggers is DebuggerService.
type debuggers struct {
	ompdv1.UnimplementedDebuggerServiceServer
	server *Server
}

// Debugger is what a debugger lends.
type Debugger struct{}
