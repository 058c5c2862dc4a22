# A forked child uses OpenMP after its parent did. scikit-learn's KMeans does so by GNU's runtime.
import os
import numpy
from sklearn.cluster import KMeans

x = numpy.random.rand(20000, 12)
KMeans(8, n_init=1).fit(x)
child = os.fork()
if child == 0:
    KMeans(8, n_init=1).fit(x)
    os._exit(0)
print(os.waitpid(child, 0))
