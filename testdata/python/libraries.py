# libraries.py WAY OUTPUT: calls a library with OpenMP inside, all the time. In the first rounds, Python itself reports
# each call, which the program writes to OUTPUT (known_calls.py). Then it prints "ready" and continues until the end of
# its standard input. If all results are those of the first round, it prints "right" and ends with status 0.
# WAY is
#   numpy      products of matrices, by OpenBLAS
#   kmeans     scikit-learn's KMeans
#   boosting   scikit-learn's HistGradientBoostingClassifier
#   inference  PyTorch, a network of linear layers
#   backward   PyTorch, gradients
#   loader     PyTorch, a DataLoader with two forked processes, and OpenMP in the parent
#   prange     numba, a parallel loop by OpenMP
#   objmode    numba, a parallel loop by OpenMP whose threads call Python
#   workqueue  numba, a parallel loop by threads of its own
#   pool       a forked pool of processes without OpenMP, and numpy's OpenMP in the parent
import select
import sys

sys.dont_write_bytecode = True
import known_calls

WARM, RECORDED = 1, 2


def numpy():
    import numpy as np
    a = np.random.default_rng(1).random((500, 500))

    def multiply():
        return a @ a

    return multiply, np.allclose


def kmeans():
    import numpy as np
    from sklearn.cluster import KMeans
    x = np.random.default_rng(1).random((4000, 10))

    def fit():
        model = KMeans(n_clusters=20, n_init=1, max_iter=30, tol=0, algorithm="lloyd", random_state=1)
        return model.fit(x).inertia_

    return fit, lambda a, b: abs(a - b) <= a / 100


def boosting():
    import numpy as np
    from sklearn.ensemble import HistGradientBoostingClassifier
    x = np.random.default_rng(1).random((4000, 10))
    y = x.sum(axis=1) > 5

    def fit():
        model = HistGradientBoostingClassifier(max_iter=5, early_stopping=False, random_state=1)
        return model.fit(x, y).score(x, y)

    return fit, lambda a, b: abs(a - b) <= 0.01


def network():
    import torch
    torch.manual_seed(1)
    layers = [torch.nn.Linear(512, 512), torch.nn.Tanh(), torch.nn.Linear(512, 512), torch.nn.LogSoftmax(dim=1)]
    return torch, torch.nn.Sequential(*layers), torch.rand(1024, 512)


def inference():
    torch, model, x = network()

    def infer():
        with torch.no_grad():
            return model(x)

    return infer, lambda a, b: torch.allclose(a, b, rtol=1e-3)


def backward():
    torch, model, x = network()

    def train():
        model.zero_grad()
        model(x).sum().backward()
        return model[0].weight.grad.clone()

    return train, lambda a, b: torch.allclose(a, b, rtol=1e-2, atol=1e-2)


class Squares:
    def __len__(self):
        return 32

    def __getitem__(self, i):
        import torch
        return torch.full((1000,), float(i)).square().sum()


def loader():
    torch, model, x = network()
    from torch.utils.data import DataLoader
    data = DataLoader(Squares(), 4, num_workers=2, persistent_workers=True, multiprocessing_context="fork")

    def load():
        total = 0
        for batch in data:
            total += batch.sum().item()
            with torch.no_grad():
                model(x)
        return total

    return load, lambda a, b: a == b


def numba(layer):
    import numba as nb
    nb.config.THREADING_LAYER = layer

    @nb.njit(parallel=True)
    def add(n):
        total = 0.0
        for i in nb.prange(n):
            x = 1.0
            for j in range(1000000):
                x = x * 0.9999999 + 0.5
            total += x
        return total

    def call():
        return add(24)

    return call, lambda a, b: abs(a - b) <= a / 1000


def prange():
    return numba("omp")


def workqueue():
    return numba("workqueue")


def spend(n):
    return sum(i * i for i in range(n))


def objmode():
    import numba as nb
    nb.config.THREADING_LAYER = "omp"

    @nb.jit(forceobj=True)
    def count(i):
        return spend(20000) + i

    @nb.njit(parallel=True)
    def add(n):
        total = 0
        for i in nb.prange(n):
            with nb.objmode(x="int64"):
                x = count(i)
            total += x
        return total

    def call():
        return add(24)

    return call, lambda a, b: a == b


def pool():
    import multiprocessing
    multiply, is_close = numpy()
    multiply()  # OpenBLAS has its threads before the fork
    sums = [spend(30000), spend(40000)]
    children = multiprocessing.get_context("fork").Pool(2)

    def both():
        result = children.map_async(spend, [30000, 40000])
        for _ in range(10):
            product = multiply()
        assert result.get() == sums
        return product

    return both, is_close


def ended():
    return select.select([sys.stdin], [], [], 0)[0]


def run(rounds):
    if rounds == RECORDED:
        sys.setprofile(known_calls.record)
    while rounds is None and not ended() or rounds:
        if not is_same(first, call()):
            sys.exit("wrong")
        if rounds:
            rounds -= 1
    sys.setprofile(None)


call, is_same = globals()[sys.argv[1]]()
first = call()
for rounds in (WARM, RECORDED, None):
    if rounds is None:
        known_calls.write(sys.argv[2])
        print("ready", flush=True)
    run(rounds)
print("right", flush=True)
