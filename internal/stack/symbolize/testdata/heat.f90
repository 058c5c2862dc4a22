module heat
  implicit none
contains
  subroutine solve(n, total)
    integer, intent(in) :: n
    integer, intent(out) :: total
    integer :: i
    total = 0
    !$omp parallel do reduction(+:total)
    do i = 1, n
      call add_one(total)
    end do
    !$omp end parallel do
  contains
    subroutine add_one(t)
      integer, intent(inout) :: t
      t = t + 1
    end subroutine
  end subroutine
end module

subroutine outside(n)
  integer :: n
  n = n + 1
end subroutine

program simulate
  use heat
  implicit none
  integer :: total
  call solve(10, total)
  call outside(total)
  print *, total
end program
