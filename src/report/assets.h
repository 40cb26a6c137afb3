/* SPDX-License-Identifier: Apache-2.0 */
/* The files of assets/, embedded when npuc is built (cmake/NpucAssets.cmake); each ends with a NUL. */
#ifndef NPUC_REPORT_ASSETS_H
#define NPUC_REPORT_ASSETS_H

extern const unsigned char npuc_asset_page_css[];
extern const unsigned char npuc_asset_page_js[];
extern const unsigned char npuc_asset_graph_js[];

#endif
