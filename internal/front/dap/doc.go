// Package dap is a debug adapter: it shows cores, processes and all other targets of package
// session in every editor that speaks the Debug Adapter Protocol, without a debugger.
//
// Serve serves one client, with the functions in Config. It only presents a picture.Picture:
// threads by region and number, user-model stacks, scopes, and the verdict as the reason of
// the stop. It contains no OpenMP logic.
//
//	wire        messages: framed, bounded, numbered
//	adapter     one client: what it asks for, in its order, and what is open for it
//	look        a look at the target, and how the client is told of it
//	view        what the last look showed, with the numbers that the client knows it by:
//	            threads, frames, scopes, variables
//
// docs/dap.md is the contract for users and for clients.
package dap
