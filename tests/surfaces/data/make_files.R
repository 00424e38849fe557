# Makes the files of this folder, with R 4.2.2 and Bioconductor 3.16: Rscript make_files.R
#
# 12 samples x 6 features, of which the first two tell the conditions apart; two features share a name.
suppressMessages({
    library(Matrix)
    library(SingleCellExperiment)
    library(DropletUtils)
})
set.seed(1)

samples <- sprintf("s%02d", 1:12)
genes <- c("TP53", "MYC", "ACTB", "GAPDH", "TBCE", "TBCE")
ids <- sprintf("ENSG%03d", 1:6)
condition <- rep(c("control", "treated"), 6)
counts <- matrix(rpois(72, 2), 6, 12, dimnames = list(ids, samples))
counts[1:2, condition == "treated"] <- counts[1:2, condition == "treated"] + 9L
storage.mode(counts) <- "integer"

# Tables for comparison.
write.csv(t(counts), "counts.csv")
write.csv(data.frame(sample = samples, condition = condition), "conditions.csv", row.names = FALSE)

# SummarizedExperiment, with a second assay; SingleCellExperiment with sparse counts.
about <- DataFrame(condition = factor(condition), batch = rep(1:3, each = 4), row.names = samples)
se <- SummarizedExperiment(list(counts = counts, logcounts = log2(counts + 1)), colData = about)
saveRDS(se, "summarized.rds")
ranged <- SummarizedExperiment(
    list(counts = counts), colData = about,
    rowRanges = GRanges("chr1", IRanges(1:6 * 100, width = 10), symbol = genes)
)
names(ranged) <- ids
saveRDS(ranged, "ranged.rds")
sparse <- as(counts * 1, "dgCMatrix")
sce <- SingleCellExperiment(list(counts = sparse), colData = about)
reducedDim(sce, "PCA") <- matrix(0.5, 12, 2)
saveRDS(sce, "single_cell.rds")

# Matrices and a data.frame, samples in rows.
saveRDS(t(counts), "matrix.rds")
saveRDS(t(sparse), "sparse.rds", compress = "xz")
frame <- data.frame(t(counts), condition = factor(condition), check.names = FALSE)
frame$batch <- rep(1:3, each = 4)
saveRDS(frame, "frame.rds", compress = FALSE)
frame$seen <- as.Date("2024-01-01") + 0:11
saveRDS(frame, "dates.rds")
saveRDS(data.frame(
    n = c(1L, NA, 3L), x = c(NA, 2.5, NA), is = c(TRUE, FALSE, NA), word = c("a", "NA-", "b"),
    level = factor(c("u", NA, "v"))
), "missing.rds")

# Objects that are refused.
saveRDS(lm(ENSG001 ~ batch, frame), "model.rds")
setClass("Seurat", representation(assays = "list", meta.data = "data.frame"))  # by its name: its values aren't read
saveRDS(new("Seurat", assays = list(1), meta.data = data.frame(a = 1)), "seurat.rds")
names(se)[2] <- names(se)[1]
saveRDS(se, "same_names.rds")
delayed <- SummarizedExperiment(list(counts = t(DelayedArray::DelayedArray(t(counts)))), colData = about)
saveRDS(delayed, "delayed.rds")
metadata(ranged)$shrink <- function(x) x / 2
saveRDS(ranged, "functions.rds")
save(counts, file = "workspace.rds")

# As Cell Ranger writes them, by DropletUtils; h5repack (of HDF5's tools) halves their size.
write_10x <- function(name, ...) {
    write10xCounts(raw <- tempfile(fileext = ".h5"), sparse, barcodes = samples, gene.id = ids, gene.symbol = genes, ...)
    system2("h5repack", c("-L", "-l", "CONTI", "-f", "NONE", raw, name))
}
write_10x("cell_ranger_3.h5", version = "3")
write_10x("cell_ranger_2.h5", version = "2", genome = "hg19")
two_types <- c(rep("Gene Expression", 4), rep("Antibody Capture", 2))
write_10x("antibodies.h5", version = "3", gene.type = two_types)
