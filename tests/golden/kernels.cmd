kernels
