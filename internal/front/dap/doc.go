// Package dap is a debug adapter: it shows cores, processes and all other targets of package engine in every
// editor that speaks the Debug Adapter Protocol, without a debugger.
//
// Serve serves one client, with the functions in Config. It only presents a picture.Picture: threads by region
// and number, user-model stacks, scopes, and the verdict as the reason of the stop. It contains no OpenMP
// logic.
//
//	wire        messages: framed, bounded, numbered
//	adapter     one client: its requests, in order, and its open target
//	look        a snapshot of the target, and its events for the client
//	view        the last snapshot, with the client's numbers of its
//	            threads, frames, scopes, variables
//
// docs/guide/dap.md is the contract for users and for clients.
package dap
