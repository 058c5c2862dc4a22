# library_callbacks.py WAY OUTPUT: a library calls back into Python, and the function that it calls writes its stack to
# OUTPUT, one line "function file line" for each frame, innermost first. Then it prints "ready" with the numbers of the
# process and of the thread, and waits until the end of the standard input. The line of the innermost frame is that of
# the call that reads the stack. WAY is
#   numpy     a universal function of numpy
#   init      the function that chooses the first centers of scikit-learn's KMeans
#   scoring   the score of scikit-learn's HistGradientBoostingClassifier
#   hook      a hook of a module of PyTorch
#   backward  a function of PyTorch's automatic differentiation
#   dataset   a data set of PyTorch's DataLoader, in a forked process
#   objmode   a worker of numba's prange: its stack continues in the thread that forked the region
import sys
import threading

sys.dont_write_bytecode = True
from own_stack import write_and_wait


def numpy():
    import numpy as np
    np.frompyfunc(write_and_wait, 2, 1)(np.arange(3), 1)


def init():
    import numpy as np
    from sklearn.cluster import KMeans
    KMeans(n_clusters=2, n_init=1, init=write_and_wait).fit(np.random.default_rng(1).random((100, 2)))


def scoring():
    import numpy as np
    from sklearn.ensemble import HistGradientBoostingClassifier
    x = np.random.default_rng(1).random((100, 2))
    HistGradientBoostingClassifier(scoring=write_and_wait, early_stopping=True).fit(x, x[:, 0] > 0.5)


def hook():
    import torch
    model = torch.nn.Sequential(torch.nn.Linear(300, 300), torch.nn.Tanh())
    model[1].register_forward_hook(write_and_wait)
    model(torch.rand(300, 300))


def backward():
    import torch

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(_, x):
            return x * x

        @staticmethod
        def backward(_, gradient):
            write_and_wait()

    Square.apply(torch.rand(300, 300, requires_grad=True)).sum().backward()


def dataset():
    import torch
    from torch.utils.data import DataLoader
    (torch.rand(1000, 1000) + 1).sum()  # OpenMP's threads exist before the fork

    class Data:
        def __len__(self):
            return 2

        def __getitem__(self, _):
            write_and_wait()

    for _ in DataLoader(Data(), num_workers=1, multiprocessing_context="fork"):
        pass


def objmode():
    import numba as nb
    nb.config.THREADING_LAYER = "omp"

    @nb.jit(forceobj=True)
    def back(i):
        if threading.current_thread() is threading.main_thread():
            threading.Event().wait()  # until the end of the process
        write_and_wait()
        return i

    @nb.njit(parallel=True)
    def loop(n):
        total = 0
        for i in nb.prange(n):
            with nb.objmode(x="int64"):
                x = back(i)
            total += x
        return total

    loop(3)


globals()[sys.argv[1]]()
