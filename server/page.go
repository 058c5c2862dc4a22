package server

import (
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// pager is a request for a page.
type pager interface {
	GetPageSize() int32
	GetPageToken() string
}

// message is the pointer to a message of type M.
type message[M any] interface {
	*M
	proto.Message
}

// pageOf returns the requested page of a list of one stop. keep selects elements; nil keeps all. A page ends
// early if its message would become too large.
func pageOf[M any, P message[M]](l Limits, req pager, stop uint32, list []*M, keep func(*M) bool) (page []*M,
	next string, err error) {
	at, err := position(req.GetPageToken(), stop)
	if err != nil {
		return nil, "", err
	}
	size, room := l.pageSize(req.GetPageSize()), l.piece()
	for ; at < len(list); at++ {
		m := list[at]
		if keep != nil && !keep(m) {
			continue
		}
		if room -= proto.Size(P(m)); len(page) == size || len(page) > 0 && room < 0 {
			return page, token(stop, at), nil
		}
		page = append(page, m)
	}
	return page, "", nil
}

// token encodes the start of the next page: a stop and a position.
func token(stop uint32, at int) string { return fmt.Sprintf("%d.%d", stop, at) }

// position decodes a token of the present stop; an empty token is the start.
func position(tok string, stop uint32) (int, error) {
	if tok == "" {
		return 0, nil
	}
	of, pos, _ := strings.Cut(tok, ".")
	n, err := strconv.ParseUint(of, 10, 32)
	at, err2 := strconv.ParseUint(pos, 10, 31)
	switch {
	case err != nil || err2 != nil:
		return 0, failure(codes.InvalidArgument, "BAD_PAGE_TOKEN", "%q is no page token", tok)
	case uint32(n) != stop:
		return 0, failure(codes.Aborted, "STALE_PAGE_TOKEN", "the page token is of stop %d, the target is at stop "+
			"%d: start again from the first page", n, stop)
	}
	return int(at), nil
}

// one finds the element for which is returns true.
func one[M any](list []*M, what, id string, is func(*M) bool) (*M, error) {
	for _, m := range list {
		if is(m) {
			return m, nil
		}
	}
	return nil, failure(codes.NotFound, "NOT_IN_TARGET", "there is no %s %s in this target at this stop", what, id)
}
