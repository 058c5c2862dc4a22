! Variables of a module, of a common block, of a procedure and of a block construct.
module counters
  integer :: total = 1
  integer, save :: table(4) = 2
end module counters

subroutine count_up(n)
  use counters
  integer, intent(in) :: n
  integer, save :: calls = 0
  integer :: shared_a, shared_b
  common /shared/ shared_a, shared_b
  calls = calls + n
  block
    integer, save :: inner = 3
    inner = inner + calls
    shared_a = inner
  end block
  shared_b = total + table(1)
end subroutine count_up

program main
  integer :: shared_a, shared_b
  common /shared/ shared_a, shared_b
  call count_up(2)
  print *, shared_a, shared_b
end program main
