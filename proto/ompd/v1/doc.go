// Package ompdv1 is the generated code of the API in the .proto files beside it:
// InspectionService, OmpdService, TraceService and DebuggerService.
//
// api.txt lists every element of the API; what is listed there may not go away
// or change, which a test holds.
//
// The messages are described to the process (protoregistry) when the first message,
// client or server is used, not when the process starts: until then, the File_ variables
// are nil.
package ompdv1

//go:generate go -C ../../../tools run ./protogen -root ../proto -out ../proto
