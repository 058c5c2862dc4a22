// Package ompdv1 is the generated code of the API in the .proto files beside it:
// InspectionService, OmpdService, TraceService and DebuggerService.
//
// api.txt lists every element of the API; what is listed there may not go away
// or change, which a test holds.
package ompdv1

//go:generate go -C ../../../tools run ./protogen -root ../proto -out ../proto
